module @jit_eval_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x10xf32> loc("down"), %arg1: tensor<64x256xf32> loc("up"), %arg2: tensor<35x64xf32> loc("image"), %arg3: tensor<35xi32> loc("label")) -> (tensor<f32> {jax.result_info = "accuracy/numerator"}, tensor<f32> {jax.result_info = "accuracy/denominator"}, tensor<f32> {jax.result_info = "loss"}) {
    %cst = stablehlo.constant dense<3.500000e+01> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<35x64xf32>
    %1 = stablehlo.divide %arg2, %0 : tensor<35x64xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<35x64xf32>, tensor<64x256xf32>) -> tensor<35x256xf32>
    %3 = call @relu(%2) : (tensor<35x256xf32>) -> tensor<35x256xf32>
    %4 = stablehlo.dot_general %3, %arg0, contracting_dims = [1] x [0] : (tensor<35x256xf32>, tensor<256x10xf32>) -> tensor<35x10xf32>
    %5 = call @argmax(%4) : (tensor<35x10xf32>) -> tensor<35xi32>
    %6 = stablehlo.compare EQ, %5, %arg3, SIGNED : (tensor<35xi32>, tensor<35xi32>) -> tensor<35xi1>
    %7 = stablehlo.convert %6 : (tensor<35xi1>) -> tensor<35xf32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<35x64xf32>
    %9 = stablehlo.divide %arg2, %8 : tensor<35x64xf32>
    %10 = stablehlo.dot_general %9, %arg1, contracting_dims = [1] x [0] : (tensor<35x64xf32>, tensor<64x256xf32>) -> tensor<35x256xf32>
    %11 = call @relu(%10) : (tensor<35x256xf32>) -> tensor<35x256xf32>
    %12 = stablehlo.dot_general %11, %arg0, contracting_dims = [1] x [0] : (tensor<35x256xf32>, tensor<256x10xf32>) -> tensor<35x10xf32>
    %13 = call @log_softmax(%12) : (tensor<35x10xf32>) -> tensor<35x10xf32>
    %14 = call @_one_hot(%arg3) : (tensor<35xi32>) -> tensor<35x10xf32>
    %15 = stablehlo.multiply %14, %13 : tensor<35x10xf32>
    %16 = stablehlo.reduce(%15 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %17 = stablehlo.reduce(%16 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    %18 = stablehlo.divide %17, %cst : tensor<f32>
    %19 = stablehlo.negate %18 : tensor<f32>
    %20 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<35xf32>, tensor<f32>) -> tensor<f32>
    return %20, %cst, %19 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<35x256xf32>) -> tensor<35x256xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<35x256xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<35x256xf32>
    return %1 : tensor<35x256xf32>
  }
  func.func private @argmax(%arg0: tensor<35x10xf32>) -> tensor<35xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<35x10xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<35x10xf32>, tensor<35x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<35xf32>, tensor<35xi32>)
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
    return %1#1 : tensor<35xi32>
  }
  func.func private @log_softmax(%arg0: tensor<35x10xf32>) -> tensor<35x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<35xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<35xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<35xf32>) -> tensor<35x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<35x1xf32>) -> tensor<35x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<35x10xf32>
    %6 = stablehlo.exponential %5 : tensor<35x10xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<35x10xf32>, tensor<f32>) -> tensor<35xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<35xf32>) -> tensor<35x1xf32>
    %9 = stablehlo.log %8 : tensor<35x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<35x1xf32>) -> tensor<35x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<35x10xf32>
    return %11 : tensor<35x10xf32>
  }
  func.func private @_one_hot(%arg0: tensor<35xi32>) -> tensor<35x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<35xi32>) -> tensor<35x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<35x1xi32>) -> tensor<35x10xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<35x10xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<35x10xi32>, tensor<35x10xi32>) -> tensor<35x10xi1>
    %5 = stablehlo.convert %4 : (tensor<35x10xi1>) -> tensor<35x10xf32>
    return %5 : tensor<35x10xf32>
  }
}
