module @jit_predict attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32> loc("fc1.weight"), %arg1: tensor<64xf32> loc("fc1.bias"), %arg2: tensor<32x64xf32> loc("fc2.weight"), %arg3: tensor<32xf32> loc("fc2.bias"), %arg4: tensor<10x32xf32> loc("fc3.weight"), %arg5: tensor<10xf32> loc("fc3.bias"), %arg6: tensor<1x64xf32> loc("image")) -> (tensor<1xi32> {jax.result_info = "result0"}) {
    %cst = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %1 = stablehlo.divide %arg6, %0 : tensor<1x64xf32>
    %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [1] : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %4 = stablehlo.add %2, %3 : tensor<1x64xf32>
    %5 = call @relu(%4) : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %6 = stablehlo.dot_general %5, %arg2, contracting_dims = [1] x [1] : (tensor<1x64xf32>, tensor<32x64xf32>) -> tensor<1x32xf32>
    %7 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %8 = stablehlo.add %6, %7 : tensor<1x32xf32>
    %9 = call @relu_0(%8) : (tensor<1x32xf32>) -> tensor<1x32xf32>
    %10 = stablehlo.dot_general %9, %arg4, contracting_dims = [1] x [1] : (tensor<1x32xf32>, tensor<10x32xf32>) -> tensor<1x10xf32>
    %11 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %12 = stablehlo.add %10, %11 : tensor<1x10xf32>
    %13 = call @argmax(%12) : (tensor<1x10xf32>) -> tensor<1xi32>
    return %13 : tensor<1xi32>
  }
  func.func private @relu(%arg0: tensor<1x64xf32>) -> tensor<1x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x64xf32>
    return %1 : tensor<1x64xf32>
  }
  func.func private @relu_0(%arg0: tensor<1x32xf32>) -> tensor<1x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x32xf32>
    return %1 : tensor<1x32xf32>
  }
  func.func private @argmax(%arg0: tensor<1x10xf32>) -> tensor<1xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<1x10xf32>, tensor<1x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<1xf32>, tensor<1xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<1xi32>
  }
}
