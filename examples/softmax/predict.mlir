module @predict {
  func.func private @minmax_func.2(%arg0: tensor<f32>, %arg1: tensor<i32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
    %0 = stablehlo.compare  GE, %arg0, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %arg0, %arg2 : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare  EQ, %arg0, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.minimum %arg1, %arg3 : tensor<i32>
    %4 = stablehlo.select %0, %arg1, %arg3 : tensor<i1>, tensor<i32>
    %5 = stablehlo.select %2, %3, %4 : tensor<i1>, tensor<i32>
    return %1, %5 : tensor<f32>, tensor<i32>
  }
  func.func @main(%arg0: tensor<1x64xf32> loc("image"), %arg1: tensor<64x10xf32> loc("kernel"), %arg2: tensor<10xf32> loc("bias")) -> tensor<1xi32> {
    %0 = stablehlo.reshape %arg0 : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %cst = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %2 = stablehlo.divide %0, %1 : tensor<1x64xf32>
    %3 = stablehlo.dot %2, %arg1, precision = [DEFAULT, DEFAULT] {mhlo.frontend_attributes = {grad_x = "false", grad_y = "false"}} : (tensor<1x64xf32>, tensor<64x10xf32>) -> tensor<1x10xf32>
    %4 = stablehlo.transpose %3, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<1x10xf32>
    %5 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %6 = stablehlo.add %4, %5 : tensor<1x10xf32>
    %7 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %8:2 = stablehlo.reduce(%6 init: %cst_0), (%7 init: %c) across dimensions = [1] : (tensor<1x10xf32>, tensor<1x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<1xf32>, tensor<1xi32>)
     reducer(%arg3: tensor<f32>, %arg5: tensor<f32>) (%arg4: tensor<i32>, %arg6: tensor<i32>)  {
      %10 = stablehlo.compare  GE, %arg3, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %10, %arg3, %arg5 : tensor<i1>, tensor<f32>
      %12 = stablehlo.compare  EQ, %arg3, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %13 = stablehlo.minimum %arg4, %arg6 : tensor<i32>
      %14 = stablehlo.select %10, %arg4, %arg6 : tensor<i1>, tensor<i32>
      %15 = stablehlo.select %12, %13, %14 : tensor<i1>, tensor<i32>
      stablehlo.return %11, %15 : tensor<f32>, tensor<i32>
    }
    %9 = stablehlo.reshape %8#1 : (tensor<1xi32>) -> tensor<1xi32>
    return %9 : tensor<1xi32>
  }
}
