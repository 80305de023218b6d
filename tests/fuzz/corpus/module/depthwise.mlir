module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8x8x16xf32>, %arg1: tensor<3x3x1x16xf32>) -> (tensor<4x8x8x16xf32> {jax.result_info = "result[0]"}, tensor<3x3x1x16xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x16xf32>, tensor<3x3x1x16xf32>) -> tensor<4x4x4x16xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x4x16xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<4x4x4x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x4x4x16xf32>
    %4 = stablehlo.multiply %3, %2 : tensor<4x4x4x16xf32>
    %5 = stablehlo.convolution(%arg0, %4) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 16 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x16xf32>, tensor<4x4x4x16xf32>) -> tensor<3x3x1x16xf32>
    %6 = stablehlo.reshape %arg1 : (tensor<3x3x1x16xf32>) -> tensor<3x3x1x16x1xf32>
    %7 = stablehlo.transpose %6, dims = [0, 1, 3, 2, 4] : (tensor<3x3x1x16x1xf32>) -> tensor<3x3x16x1x1xf32>
    %8 = stablehlo.reshape %7 : (tensor<3x3x16x1x1xf32>) -> tensor<3x3x16x1xf32>
    %9 = stablehlo.reverse %8, dims = [0, 1] : tensor<3x3x16x1xf32>
    %10 = stablehlo.convolution(%4, %9) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x4x4x16xf32>, tensor<3x3x16x1xf32>) -> tensor<4x8x8x16xf32>
    return %10, %5 : tensor<4x8x8x16xf32>, tensor<3x3x1x16xf32>
  }
}
