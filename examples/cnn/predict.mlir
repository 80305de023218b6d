module @jit_predict attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x1x8xf32> loc("cnn/conv1/kernel"), %arg1: tensor<8xf32> loc("cnn/norm1/gamma"), %arg2: tensor<8xf32> loc("cnn/norm1/beta"), %arg3: tensor<3x3x8x16xf32> loc("cnn/conv2/kernel"), %arg4: tensor<16xf32> loc("cnn/norm2/gamma"), %arg5: tensor<16xf32> loc("cnn/norm2/beta"), %arg6: tensor<64x10xf32> loc("cnn/classes/kernel"), %arg7: tensor<10xf32> loc("cnn/classes/bias"), %arg8: tensor<8xf32> loc("cnn/norm1/moving_mean"), %arg9: tensor<8xf32> loc("cnn/norm1/moving_variance"), %arg10: tensor<16xf32> loc("cnn/norm2/moving_mean"), %arg11: tensor<16xf32> loc("cnn/norm2/moving_variance"), %arg12: tensor<2xui32> loc("seed_generator/seed_generator_state"), %arg13: tensor<1x64xf32> loc("image")) -> (tensor<1x10xf32> {jax.result_info = "result0"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<6.250000e-02> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %1 = stablehlo.multiply %arg13, %0 : tensor<1x64xf32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %3 = stablehlo.add %1, %2 : tensor<1x64xf32>
    %4 = stablehlo.reshape %3 : (tensor<1x64xf32>) -> tensor<1x8x8x1xf32>
    %5 = stablehlo.convolution(%4, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x1xf32>, tensor<3x3x1x8xf32>) -> tensor<1x8x8x8xf32>
    %6 = stablehlo.reshape %arg8 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %7 = stablehlo.reshape %arg9 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %9 = stablehlo.add %7, %8 : tensor<1x1x1x8xf32>
    %10 = stablehlo.rsqrt %9 : tensor<1x1x1x8xf32>
    %11 = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %12 = stablehlo.multiply %10, %11 : tensor<1x1x1x8xf32>
    %13 = stablehlo.negate %6 : tensor<1x1x1x8xf32>
    %14 = stablehlo.multiply %13, %12 : tensor<1x1x1x8xf32>
    %15 = stablehlo.reshape %arg2 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %16 = stablehlo.add %14, %15 : tensor<1x1x1x8xf32>
    %17 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x8x8x8xf32>
    %18 = stablehlo.multiply %5, %17 : tensor<1x8x8x8xf32>
    %19 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x8x8x8xf32>
    %20 = stablehlo.add %18, %19 : tensor<1x8x8x8xf32>
    %21 = call @relu(%20) : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    %22 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %23 = "stablehlo.reduce_window"(%21, %22) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %47 = stablehlo.maximum %arg14, %arg15 : tensor<f32>
      stablehlo.return %47 : tensor<f32>
    }) : (tensor<1x8x8x8xf32>, tensor<f32>) -> tensor<1x4x4x8xf32>
    %24 = stablehlo.convolution(%23, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x4x4x16xf32>
    %25 = stablehlo.reshape %arg10 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %26 = stablehlo.reshape %arg11 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %27 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %28 = stablehlo.add %26, %27 : tensor<1x1x1x16xf32>
    %29 = stablehlo.rsqrt %28 : tensor<1x1x1x16xf32>
    %30 = stablehlo.reshape %arg4 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %31 = stablehlo.multiply %29, %30 : tensor<1x1x1x16xf32>
    %32 = stablehlo.negate %25 : tensor<1x1x1x16xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<1x1x1x16xf32>
    %34 = stablehlo.reshape %arg5 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %35 = stablehlo.add %33, %34 : tensor<1x1x1x16xf32>
    %36 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<1x4x4x16xf32>
    %37 = stablehlo.multiply %24, %36 : tensor<1x4x4x16xf32>
    %38 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<1x4x4x16xf32>
    %39 = stablehlo.add %37, %38 : tensor<1x4x4x16xf32>
    %40 = call @relu_0(%39) : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
    %41 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %42 = "stablehlo.reduce_window"(%40, %41) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %47 = stablehlo.maximum %arg14, %arg15 : tensor<f32>
      stablehlo.return %47 : tensor<f32>
    }) : (tensor<1x4x4x16xf32>, tensor<f32>) -> tensor<1x2x2x16xf32>
    %43 = stablehlo.reshape %42 : (tensor<1x2x2x16xf32>) -> tensor<1x64xf32>
    %44 = stablehlo.dot_general %43, %arg6, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x10xf32>) -> tensor<1x10xf32>
    %45 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %46 = stablehlo.add %44, %45 : tensor<1x10xf32>
    return %46 : tensor<1x10xf32>
  }
  func.func private @relu(%arg0: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x8x8x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x8x8x8xf32>
    return %1 : tensor<1x8x8x8xf32>
  }
  func.func private @relu_0(%arg0: tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4x4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x4x4x16xf32>
    return %1 : tensor<1x4x4x16xf32>
  }
}
