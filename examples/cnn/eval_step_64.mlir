module @jit_eval_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x1x8xf32> loc("cnn/conv1/kernel"), %arg1: tensor<8xf32> loc("cnn/norm1/gamma"), %arg2: tensor<8xf32> loc("cnn/norm1/beta"), %arg3: tensor<3x3x8x16xf32> loc("cnn/conv2/kernel"), %arg4: tensor<16xf32> loc("cnn/norm2/gamma"), %arg5: tensor<16xf32> loc("cnn/norm2/beta"), %arg6: tensor<64x10xf32> loc("cnn/classes/kernel"), %arg7: tensor<10xf32> loc("cnn/classes/bias"), %arg8: tensor<8xf32> loc("cnn/norm1/moving_mean"), %arg9: tensor<8xf32> loc("cnn/norm1/moving_variance"), %arg10: tensor<16xf32> loc("cnn/norm2/moving_mean"), %arg11: tensor<16xf32> loc("cnn/norm2/moving_variance"), %arg12: tensor<2xui32> loc("seed_generator/seed_generator_state"), %arg13: tensor<64x64xf32> loc("image"), %arg14: tensor<64xi32> loc("label")) -> (tensor<f32> {jax.result_info = "accuracy/numerator"}, tensor<f32> {jax.result_info = "accuracy/denominator"}, tensor<f32> {jax.result_info = "loss"}) {
    %cst = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %cst_0 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %c_4 = stablehlo.constant dense<64> : tensor<1xi32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<6.250000e-02> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %1 = stablehlo.multiply %arg13, %0 : tensor<64x64xf32>
    %2 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %3 = stablehlo.add %1, %2 : tensor<64x64xf32>
    %4 = stablehlo.reshape %3 : (tensor<64x64xf32>) -> tensor<64x8x8x1xf32>
    %5 = stablehlo.convolution(%4, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x8x8x1xf32>, tensor<3x3x1x8xf32>) -> tensor<64x8x8x8xf32>
    %6 = stablehlo.reshape %arg8 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %7 = stablehlo.reshape %arg9 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %8 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %9 = stablehlo.add %7, %8 : tensor<1x1x1x8xf32>
    %10 = stablehlo.rsqrt %9 : tensor<1x1x1x8xf32>
    %11 = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %12 = stablehlo.multiply %10, %11 : tensor<1x1x1x8xf32>
    %13 = stablehlo.negate %6 : tensor<1x1x1x8xf32>
    %14 = stablehlo.multiply %13, %12 : tensor<1x1x1x8xf32>
    %15 = stablehlo.reshape %arg2 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %16 = stablehlo.add %14, %15 : tensor<1x1x1x8xf32>
    %17 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<64x8x8x8xf32>
    %18 = stablehlo.multiply %5, %17 : tensor<64x8x8x8xf32>
    %19 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<64x8x8x8xf32>
    %20 = stablehlo.add %18, %19 : tensor<64x8x8x8xf32>
    %21 = call @relu(%20) : (tensor<64x8x8x8xf32>) -> tensor<64x8x8x8xf32>
    %22 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<f32>
    %23 = "stablehlo.reduce_window"(%21, %22) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %78 = stablehlo.maximum %arg15, %arg16 : tensor<f32>
      stablehlo.return %78 : tensor<f32>
    }) : (tensor<64x8x8x8xf32>, tensor<f32>) -> tensor<64x4x4x8xf32>
    %24 = stablehlo.convolution(%23, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<64x4x4x16xf32>
    %25 = stablehlo.reshape %arg10 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %26 = stablehlo.reshape %arg11 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %27 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %28 = stablehlo.add %26, %27 : tensor<1x1x1x16xf32>
    %29 = stablehlo.rsqrt %28 : tensor<1x1x1x16xf32>
    %30 = stablehlo.reshape %arg4 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %31 = stablehlo.multiply %29, %30 : tensor<1x1x1x16xf32>
    %32 = stablehlo.negate %25 : tensor<1x1x1x16xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<1x1x1x16xf32>
    %34 = stablehlo.reshape %arg5 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %35 = stablehlo.add %33, %34 : tensor<1x1x1x16xf32>
    %36 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<64x4x4x16xf32>
    %37 = stablehlo.multiply %24, %36 : tensor<64x4x4x16xf32>
    %38 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<64x4x4x16xf32>
    %39 = stablehlo.add %37, %38 : tensor<64x4x4x16xf32>
    %40 = call @relu_0(%39) : (tensor<64x4x4x16xf32>) -> tensor<64x4x4x16xf32>
    %41 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<f32>
    %42 = "stablehlo.reduce_window"(%40, %41) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %78 = stablehlo.maximum %arg15, %arg16 : tensor<f32>
      stablehlo.return %78 : tensor<f32>
    }) : (tensor<64x4x4x16xf32>, tensor<f32>) -> tensor<64x2x2x16xf32>
    %43 = stablehlo.reshape %42 : (tensor<64x2x2x16xf32>) -> tensor<64x64xf32>
    %44 = stablehlo.dot_general %43, %arg6, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %45 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<64x10xf32>
    %47 = stablehlo.add %44, %46 : tensor<64x10xf32>
    %48 = stablehlo.convert %arg14 : (tensor<64xi32>) -> tensor<64xf32>
    %49 = stablehlo.convert %48 : (tensor<64xf32>) -> tensor<64xi32>
    %50 = call @log_softmax(%47) : (tensor<64x10xf32>) -> tensor<64x10xf32>
    %51 = call @_one_hot(%49) : (tensor<64xi32>) -> tensor<64x10xf32>
    %52 = stablehlo.multiply %51, %50 : tensor<64x10xf32>
    %53 = stablehlo.reduce(%52 init: %cst_5) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %54 = stablehlo.negate %53 : tensor<64xf32>
    %55 = stablehlo.reduce(%54 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %56 = stablehlo.reduce(%c_4 init: %c_1) applies stablehlo.multiply across dimensions = [0] : (tensor<1xi32>, tensor<i32>) -> tensor<i32>
    %57 = stablehlo.convert %56 : (tensor<i32>) -> tensor<f32>
    %58 = stablehlo.compare EQ, %57, %cst_5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %59 = call @_where(%58, %c_1, %57) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
    %60 = stablehlo.compare EQ, %57, %cst_5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %61 = stablehlo.divide %55, %59 : tensor<f32>
    %62 = call @_where(%60, %c, %61) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
    %63 = stablehlo.multiply %cst_5, %cst_5 : tensor<f32>
    %64 = stablehlo.multiply %cst_5, %cst_5 : tensor<f32>
    %65 = stablehlo.convert %arg14 : (tensor<64xi32>) -> tensor<64xf32>
    %66 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %67 = stablehlo.compare EQ, %47, %66, FLOAT : (tensor<64x10xf32>, tensor<64x10xf32>) -> tensor<64x10xi1>
    %68 = call @signbit(%47) : (tensor<64x10xf32>) -> tensor<64x10xi1>
    %69 = stablehlo.and %67, %68 : tensor<64x10xi1>
    %70 = call @_where_1(%69, %cst_0, %47) : (tensor<64x10xi1>, tensor<f32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %71 = call @argmax(%70) : (tensor<64x10xf32>) -> tensor<64xi32>
    %72 = stablehlo.convert %71 : (tensor<64xi32>) -> tensor<64xf32>
    %73 = stablehlo.compare EQ, %65, %72, FLOAT : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
    %74 = stablehlo.convert %73 : (tensor<64xi1>) -> tensor<64xf32>
    %75 = stablehlo.reduce(%74 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %76 = stablehlo.add %63, %75 : tensor<f32>
    %77 = stablehlo.add %64, %cst : tensor<f32>
    return %76, %77, %62 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<64x8x8x8xf32>) -> tensor<64x8x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x8x8x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x8x8x8xf32>
    return %1 : tensor<64x8x8x8xf32>
  }
  func.func private @relu_0(%arg0: tensor<64x4x4x16xf32>) -> tensor<64x4x4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x4x4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x4x4x16xf32>
    return %1 : tensor<64x4x4x16xf32>
  }
  func.func private @log_softmax(%arg0: tensor<64x10xf32>) -> tensor<64x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<64xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<64x10xf32>
    %6 = stablehlo.exponential %5 : tensor<64x10xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<64xf32>) -> tensor<64x1xf32>
    %9 = stablehlo.log %8 : tensor<64x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<64x10xf32>
    return %11 : tensor<64x10xf32>
  }
  func.func private @_one_hot(%arg0: tensor<64xi32>) -> tensor<64x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<64xi32>) -> tensor<64x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x10xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<64x10xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<64x10xi32>, tensor<64x10xi32>) -> tensor<64x10xi1>
    %5 = stablehlo.convert %4 : (tensor<64x10xi1>) -> tensor<64x10xf32>
    return %5 : tensor<64x10xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<i1>, tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @signbit(%arg0: tensor<64x10xf32>) -> tensor<64x10xi1> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<31> : tensor<i32>
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<64x10xf32>) -> tensor<64x10xi32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<64x10xi32>
    %2 = stablehlo.shift_right_arithmetic %0, %1 : tensor<64x10xi32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<64x10xi32>
    %4 = stablehlo.compare NE, %2, %3, SIGNED : (tensor<64x10xi32>, tensor<64x10xi32>) -> tensor<64x10xi1>
    %5 = stablehlo.convert %4 : tensor<64x10xi1>
    return %5 : tensor<64x10xi1>
  }
  func.func private @_where_1(%arg0: tensor<64x10xi1>, %arg1: tensor<f32>, %arg2: tensor<64x10xf32>) -> tensor<64x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<64x10xi1>, tensor<64x10xf32>
    return %1 : tensor<64x10xf32>
  }
  func.func private @argmax(%arg0: tensor<64x10xf32>) -> tensor<64xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<64x10xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<64x10xf32>, tensor<64x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
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
    return %1#1 : tensor<64xi32>
  }
}
