// An optimizer of one's own: momentum, for scalars. velocity' = 0.9 velocity - rate gradient, and the variable moves by it.
module @momentum {
  func.func public @main(%variable: tensor<f32>, %gradient: tensor<f32>, %velocity: tensor<f32>, %rate: tensor<f32>)
      -> (tensor<f32>, tensor<f32>) {
    %keep = stablehlo.constant dense<0.9> : tensor<f32>
    %kept = stablehlo.multiply %velocity, %keep : tensor<f32>
    %step = stablehlo.multiply %gradient, %rate : tensor<f32>
    %moved = stablehlo.subtract %kept, %step : tensor<f32>
    %value = stablehlo.add %variable, %moved : tensor<f32>
    return %value, %moved : tensor<f32>, tensor<f32>
  }
}
