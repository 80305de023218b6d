// One batch of a linear regression: prediction w x + b, loss mean((w x + b - y)^2), and its gradients by w and b.
module @linear_step {
  func.func public @main(%arg0: tensor<f32> loc("w"), %arg1: tensor<f32> loc("b"), %arg2: tensor<4xf32> loc("x"), %arg3: tensor<4xf32> loc("y"))
      -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %count = stablehlo.constant dense<4.0> : tensor<f32>
    %two = stablehlo.constant dense<2.0> : tensor<4xf32>
    %w = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %b = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %wx = stablehlo.multiply %w, %arg2 : tensor<4xf32>
    %prediction = stablehlo.add %wx, %b : tensor<4xf32>
    %error = stablehlo.subtract %prediction, %arg3 : tensor<4xf32>
    %squares = stablehlo.multiply %error, %error : tensor<4xf32>
    %sum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.divide %sum, %count : tensor<f32>
    %slope = stablehlo.multiply %two, %error : tensor<4xf32>
    %slope_x = stablehlo.multiply %slope, %arg2 : tensor<4xf32>
    %sum_w = stablehlo.reduce(%slope_x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %gradient_w = stablehlo.divide %sum_w, %count : tensor<f32>
    %sum_b = stablehlo.reduce(%slope init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %gradient_b = stablehlo.divide %sum_b, %count : tensor<f32>
    return %loss, %gradient_w, %gradient_b : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
