module @jit_train_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x1x8xf32> loc("cnn/conv1/kernel"), %arg1: tensor<8xf32> loc("cnn/norm1/gamma"), %arg2: tensor<8xf32> loc("cnn/norm1/beta"), %arg3: tensor<3x3x8x16xf32> loc("cnn/conv2/kernel"), %arg4: tensor<16xf32> loc("cnn/norm2/gamma"), %arg5: tensor<16xf32> loc("cnn/norm2/beta"), %arg6: tensor<64x10xf32> loc("cnn/classes/kernel"), %arg7: tensor<10xf32> loc("cnn/classes/bias"), %arg8: tensor<8xf32> loc("cnn/norm1/moving_mean"), %arg9: tensor<8xf32> loc("cnn/norm1/moving_variance"), %arg10: tensor<16xf32> loc("cnn/norm2/moving_mean"), %arg11: tensor<16xf32> loc("cnn/norm2/moving_variance"), %arg12: tensor<2xui32> loc("seed_generator/seed_generator_state"), %arg13: tensor<16x64xf32> loc("image"), %arg14: tensor<16xi32> loc("label"), %arg15: tensor<i32> loc("replica_id")) -> (tensor<f32> {jax.result_info = "loss"}, tensor<3x3x1x8xf32> {jax.result_info = "gradient cnn/conv1/kernel"}, tensor<8xf32> {jax.result_info = "gradient cnn/norm1/gamma"}, tensor<8xf32> {jax.result_info = "gradient cnn/norm1/beta"}, tensor<3x3x8x16xf32> {jax.result_info = "gradient cnn/conv2/kernel"}, tensor<16xf32> {jax.result_info = "gradient cnn/norm2/gamma"}, tensor<16xf32> {jax.result_info = "gradient cnn/norm2/beta"}, tensor<64x10xf32> {jax.result_info = "gradient cnn/classes/kernel"}, tensor<10xf32> {jax.result_info = "gradient cnn/classes/bias"}, tensor<8xf32> {jax.result_info = "assign cnn/norm1/moving_mean"}, tensor<8xf32> {jax.result_info = "assign cnn/norm1/moving_variance"}, tensor<16xf32> {jax.result_info = "assign cnn/norm2/moving_mean"}, tensor<16xf32> {jax.result_info = "assign cnn/norm2/moving_variance"}, tensor<2xui32> {jax.result_info = "assign seed_generator/seed_generator_state"}, tensor<f32> {jax.result_info = "accuracy/numerator"}, tensor<f32> {jax.result_info = "accuracy/denominator"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.17549435E-38> : tensor<f32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %cst_2 = stablehlo.constant dense<0.699999988> : tensor<f32>
    %c_3 = stablehlo.constant dense<1> : tensor<ui32>
    %cst_4 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_6 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %cst_7 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %cst_8 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %cst_9 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %cst_11 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %cst_12 = stablehlo.constant dense<6.250000e-02> : tensor<f32>
    %c_13 = stablehlo.constant dense<0> : tensor<ui32>
    %c_14 = stablehlo.constant dense<[0, 1]> : tensor<2xui32>
    %c_15 = stablehlo.constant dense<16> : tensor<1xi32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg15 : (tensor<i32>) -> tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %2 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    %4 = stablehlo.add %arg12, %3 : tensor<2xui32>
    %5 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %6 = stablehlo.multiply %arg13, %5 : tensor<16x64xf32>
    %7 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %8 = stablehlo.add %6, %7 : tensor<16x64xf32>
    %9 = stablehlo.reshape %8 : (tensor<16x64xf32>) -> tensor<16x8x8x1xf32>
    %10 = stablehlo.convolution(%9, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x8x8x1xf32>, tensor<3x3x1x8xf32>) -> tensor<16x8x8x8xf32>
    %11 = stablehlo.reduce(%10 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %13 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %14 = stablehlo.divide %12, %13 : tensor<1x1x1x8xf32>
    %15:5 = call @_var(%10, %c_10) : (tensor<16x8x8x8xf32>, tensor<i32>) -> (tensor<1x1x1x8xf32>, tensor<16x8x8x8xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x8xf32>)
    %16 = stablehlo.reshape %14 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %17 = stablehlo.reshape %15#0 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %18 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %19 = stablehlo.multiply %arg8, %18 : tensor<8xf32>
    %20 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %21 = stablehlo.multiply %16, %20 : tensor<8xf32>
    %22 = stablehlo.add %19, %21 : tensor<8xf32>
    %23 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %24 = stablehlo.multiply %arg9, %23 : tensor<8xf32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %26 = stablehlo.multiply %17, %25 : tensor<8xf32>
    %27 = stablehlo.add %24, %26 : tensor<8xf32>
    %28 = stablehlo.reshape %16 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %29 = stablehlo.reshape %17 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %30 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %31 = stablehlo.add %29, %30 : tensor<1x1x1x8xf32>
    %32 = stablehlo.rsqrt %31 : tensor<1x1x1x8xf32>
    %33 = stablehlo.divide %32, %31 : tensor<1x1x1x8xf32>
    %34 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %35 = stablehlo.multiply %34, %33 : tensor<1x1x1x8xf32>
    %36 = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %37 = stablehlo.multiply %32, %36 : tensor<1x1x1x8xf32>
    %38 = stablehlo.negate %28 : tensor<1x1x1x8xf32>
    %39 = stablehlo.multiply %38, %37 : tensor<1x1x1x8xf32>
    %40 = stablehlo.reshape %arg2 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %41 = stablehlo.add %39, %40 : tensor<1x1x1x8xf32>
    %42 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<16x8x8x8xf32>
    %43 = stablehlo.multiply %10, %42 : tensor<16x8x8x8xf32>
    %44 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<16x8x8x8xf32>
    %45 = stablehlo.add %43, %44 : tensor<16x8x8x8xf32>
    %46 = call @relu(%45) : (tensor<16x8x8x8xf32>) -> tensor<16x8x8x8xf32>
    %47 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x8x8x8xf32>
    %48 = stablehlo.compare GT, %45, %47, FLOAT : (tensor<16x8x8x8xf32>, tensor<16x8x8x8xf32>) -> tensor<16x8x8x8xi1>
    %49 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<f32>
    %50 = "stablehlo.reduce_window"(%46, %49) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %222 = stablehlo.maximum %arg16, %arg17 : tensor<f32>
      stablehlo.return %222 : tensor<f32>
    }) : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<16x4x4x8xf32>
    %51 = stablehlo.convolution(%50, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<16x4x4x16xf32>
    %52 = stablehlo.reduce(%51 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %54 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %55 = stablehlo.divide %53, %54 : tensor<1x1x1x16xf32>
    %56:5 = call @_var_0(%51, %c_10) : (tensor<16x4x4x16xf32>, tensor<i32>) -> (tensor<1x1x1x16xf32>, tensor<16x4x4x16xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x16xf32>)
    %57 = stablehlo.reshape %55 : (tensor<1x1x1x16xf32>) -> tensor<16xf32>
    %58 = stablehlo.reshape %56#0 : (tensor<1x1x1x16xf32>) -> tensor<16xf32>
    %59 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %60 = stablehlo.multiply %arg10, %59 : tensor<16xf32>
    %61 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %62 = stablehlo.multiply %57, %61 : tensor<16xf32>
    %63 = stablehlo.add %60, %62 : tensor<16xf32>
    %64 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %65 = stablehlo.multiply %arg11, %64 : tensor<16xf32>
    %66 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %67 = stablehlo.multiply %58, %66 : tensor<16xf32>
    %68 = stablehlo.add %65, %67 : tensor<16xf32>
    %69 = stablehlo.reshape %57 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %70 = stablehlo.reshape %58 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %71 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %72 = stablehlo.add %70, %71 : tensor<1x1x1x16xf32>
    %73 = stablehlo.rsqrt %72 : tensor<1x1x1x16xf32>
    %74 = stablehlo.divide %73, %72 : tensor<1x1x1x16xf32>
    %75 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %76 = stablehlo.multiply %75, %74 : tensor<1x1x1x16xf32>
    %77 = stablehlo.reshape %arg4 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %78 = stablehlo.multiply %73, %77 : tensor<1x1x1x16xf32>
    %79 = stablehlo.negate %69 : tensor<1x1x1x16xf32>
    %80 = stablehlo.multiply %79, %78 : tensor<1x1x1x16xf32>
    %81 = stablehlo.reshape %arg5 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %82 = stablehlo.add %80, %81 : tensor<1x1x1x16xf32>
    %83 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<16x4x4x16xf32>
    %84 = stablehlo.multiply %51, %83 : tensor<16x4x4x16xf32>
    %85 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<16x4x4x16xf32>
    %86 = stablehlo.add %84, %85 : tensor<16x4x4x16xf32>
    %87 = call @relu_2(%86) : (tensor<16x4x4x16xf32>) -> tensor<16x4x4x16xf32>
    %88 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x4x4x16xf32>
    %89 = stablehlo.compare GT, %86, %88, FLOAT : (tensor<16x4x4x16xf32>, tensor<16x4x4x16xf32>) -> tensor<16x4x4x16xi1>
    %90 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<f32>
    %91 = "stablehlo.reduce_window"(%87, %90) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %222 = stablehlo.maximum %arg16, %arg17 : tensor<f32>
      stablehlo.return %222 : tensor<f32>
    }) : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16x2x2x16xf32>
    %92 = stablehlo.reshape %91 : (tensor<16x2x2x16xf32>) -> tensor<16x64xf32>
    %93 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %94 = stablehlo.multiply %4, %93 : tensor<2xui32>
    %95 = stablehlo.add %4, %c_14 : tensor<2xui32>
    %96 = call @_bernoulli(%94, %cst_2) : (tensor<2xui32>, tensor<f32>) -> tensor<16x64xi1>
    %97 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %98 = stablehlo.divide %92, %97 : tensor<16x64xf32>
    %99 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %100 = stablehlo.select %96, %98, %99 : tensor<16x64xi1>, tensor<16x64xf32>
    %101 = stablehlo.dot_general %100, %arg6, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x10xf32>) -> tensor<16x10xf32>
    %102 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<16x10xf32>
    %104 = stablehlo.add %101, %103 : tensor<16x10xf32>
    %105 = stablehlo.convert %arg14 : (tensor<16xi32>) -> tensor<16xf32>
    %106 = stablehlo.convert %105 : (tensor<16xf32>) -> tensor<16xi32>
    %107:3 = call @log_softmax(%104) : (tensor<16x10xf32>) -> (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x1xf32>)
    %108 = call @_one_hot(%106) : (tensor<16xi32>) -> tensor<16x10xf32>
    %109 = stablehlo.multiply %108, %107#0 : tensor<16x10xf32>
    %110 = stablehlo.reduce(%109 init: %cst_16) applies stablehlo.add across dimensions = [1] : (tensor<16x10xf32>, tensor<f32>) -> tensor<16xf32>
    %111 = stablehlo.negate %110 : tensor<16xf32>
    %112 = stablehlo.reduce(%111 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %113 = stablehlo.reduce(%c_15 init: %c) applies stablehlo.multiply across dimensions = [0] : (tensor<1xi32>, tensor<i32>) -> tensor<i32>
    %114 = stablehlo.convert %113 : (tensor<i32>) -> tensor<f32>
    %115 = stablehlo.compare EQ, %114, %cst_16, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %116 = call @_where_3(%115, %c, %114) : (tensor<i1>, tensor<i32>, tensor<f32>) -> tensor<f32>
    %117 = stablehlo.compare EQ, %114, %cst_16, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %118 = stablehlo.divide %112, %116 : tensor<f32>
    %119:2 = call @_where_4(%117, %c_10, %118) : (tensor<i1>, tensor<i32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %120 = stablehlo.multiply %cst_16, %cst_16 : tensor<f32>
    %121 = stablehlo.multiply %cst_16, %cst_16 : tensor<f32>
    %122 = stablehlo.convert %arg14 : (tensor<16xi32>) -> tensor<16xf32>
    %123 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %124 = stablehlo.compare EQ, %104, %123, FLOAT : (tensor<16x10xf32>, tensor<16x10xf32>) -> tensor<16x10xi1>
    %125 = call @signbit(%104) : (tensor<16x10xf32>) -> tensor<16x10xi1>
    %126 = stablehlo.and %124, %125 : tensor<16x10xi1>
    %127:2 = call @_where_5(%126, %cst_1, %104) : (tensor<16x10xi1>, tensor<f32>, tensor<16x10xf32>) -> (tensor<16x10xf32>, tensor<16x10xf32>)
    %128 = call @argmax(%127#0) : (tensor<16x10xf32>) -> tensor<16xi32>
    %129 = stablehlo.convert %128 : (tensor<16xi32>) -> tensor<16xf32>
    %130 = stablehlo.compare EQ, %122, %129, FLOAT : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xi1>
    %131 = stablehlo.convert %130 : (tensor<16xi1>) -> tensor<16xf32>
    %132 = stablehlo.reduce(%131 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %133 = stablehlo.add %120, %132 : tensor<f32>
    %134 = stablehlo.add %121, %cst_0 : tensor<f32>
    %135 = stablehlo.subtract %95, %3 : tensor<2xui32>
    %136 = call @_where_6(%117, %119#1, %cst) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %137 = stablehlo.divide %136, %116 : tensor<f32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %139 = stablehlo.negate %138 : tensor<16xf32>
    %140 = stablehlo.broadcast_in_dim %139, dims = [0] : (tensor<16xf32>) -> tensor<16x10xf32>
    %141 = stablehlo.multiply %108, %140 : tensor<16x10xf32>
    %142 = call @log_softmax_7(%107#1, %107#2, %141) : (tensor<16x10xf32>, tensor<16x1xf32>, tensor<16x10xf32>) -> tensor<16x10xf32>
    %143 = stablehlo.reduce(%142 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<16x10xf32>, tensor<f32>) -> tensor<10xf32>
    %144 = stablehlo.reshape %143 : (tensor<10xf32>) -> tensor<1x10xf32>
    %145 = stablehlo.reduce(%144 init: %cst_16) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %146 = stablehlo.dot_general %142, %100, contracting_dims = [0] x [0] : (tensor<16x10xf32>, tensor<16x64xf32>) -> tensor<10x64xf32>
    %147 = stablehlo.transpose %146, dims = [1, 0] : (tensor<10x64xf32>) -> tensor<64x10xf32>
    %148 = stablehlo.dot_general %142, %arg6, contracting_dims = [1] x [1] : (tensor<16x10xf32>, tensor<64x10xf32>) -> tensor<16x64xf32>
    %149 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %150 = stablehlo.select %96, %148, %149 : tensor<16x64xi1>, tensor<16x64xf32>
    %151 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %152 = stablehlo.divide %150, %151 : tensor<16x64xf32>
    %153 = stablehlo.reshape %152 : (tensor<16x64xf32>) -> tensor<16x2x2x16xf32>
    %154 = stablehlo.pad %87, %cst_5, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16x4x4x16xf32>
    %155 = "stablehlo.select_and_scatter"(%154, %153, %cst_16) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %222 = stablehlo.compare GE, %arg16, %arg17, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %222 : tensor<i1>
    }, {
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %222 = stablehlo.add %arg16, %arg17 : tensor<f32>
      stablehlo.return %222 : tensor<f32>
    }) : (tensor<16x4x4x16xf32>, tensor<16x2x2x16xf32>, tensor<f32>) -> tensor<16x4x4x16xf32>
    %156 = stablehlo.slice %155 [0:16, 0:4, 0:4, 0:16] : (tensor<16x4x4x16xf32>) -> tensor<16x4x4x16xf32>
    %157 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x4x4x16xf32>
    %158 = stablehlo.select %89, %156, %157 : tensor<16x4x4x16xi1>, tensor<16x4x4x16xf32>
    %159 = stablehlo.reduce(%158 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %160 = stablehlo.reshape %159 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %161 = stablehlo.multiply %51, %158 : tensor<16x4x4x16xf32>
    %162 = stablehlo.reduce(%161 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %163 = stablehlo.reshape %162 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %164 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<16x4x4x16xf32>
    %165 = stablehlo.multiply %158, %164 : tensor<16x4x4x16xf32>
    %166 = stablehlo.reshape %160 : (tensor<1x1x1x16xf32>) -> tensor<16xf32>
    %167 = stablehlo.multiply %79, %160 : tensor<1x1x1x16xf32>
    %168 = stablehlo.add %163, %167 : tensor<1x1x1x16xf32>
    %169 = stablehlo.multiply %160, %78 : tensor<1x1x1x16xf32>
    %170 = stablehlo.negate %169 : tensor<1x1x1x16xf32>
    %171 = stablehlo.multiply %73, %168 : tensor<1x1x1x16xf32>
    %172 = stablehlo.multiply %168, %77 : tensor<1x1x1x16xf32>
    %173 = stablehlo.reshape %171 : (tensor<1x1x1x16xf32>) -> tensor<16xf32>
    %174 = stablehlo.multiply %172, %76 : tensor<1x1x1x16xf32>
    %175 = stablehlo.reshape %174 : (tensor<1x1x1x16xf32>) -> tensor<16xf32>
    %176 = stablehlo.reshape %170 : (tensor<1x1x1x16xf32>) -> tensor<16xf32>
    %177 = stablehlo.broadcast_in_dim %175, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %178 = stablehlo.broadcast_in_dim %176, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %179 = call @_var_8(%56#1, %56#2, %56#3, %56#4, %177) : (tensor<16x4x4x16xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> tensor<16x4x4x16xf32>
    %180 = stablehlo.add %165, %179 : tensor<16x4x4x16xf32>
    %181 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %182 = stablehlo.divide %178, %181 : tensor<1x1x1x16xf32>
    %183 = stablehlo.reduce(%182 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %184 = stablehlo.broadcast_in_dim %183, dims = [3] : (tensor<16xf32>) -> tensor<16x4x4x16xf32>
    %185 = stablehlo.add %180, %184 : tensor<16x4x4x16xf32>
    %186 = stablehlo.convolution(%50, %185) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x4x4x8xf32>, tensor<16x4x4x16xf32>) -> tensor<3x3x8x16xf32>
    %187 = stablehlo.reverse %arg3, dims = [0, 1] : tensor<3x3x8x16xf32>
    %188 = stablehlo.convolution(%185, %187) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x4x4x16xf32>, tensor<3x3x8x16xf32>) -> tensor<16x4x4x8xf32>
    %189 = stablehlo.pad %46, %cst_5, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<16x8x8x8xf32>
    %190 = "stablehlo.select_and_scatter"(%189, %188, %cst_16) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %222 = stablehlo.compare GE, %arg16, %arg17, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %222 : tensor<i1>
    }, {
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %222 = stablehlo.add %arg16, %arg17 : tensor<f32>
      stablehlo.return %222 : tensor<f32>
    }) : (tensor<16x8x8x8xf32>, tensor<16x4x4x8xf32>, tensor<f32>) -> tensor<16x8x8x8xf32>
    %191 = stablehlo.slice %190 [0:16, 0:8, 0:8, 0:8] : (tensor<16x8x8x8xf32>) -> tensor<16x8x8x8xf32>
    %192 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x8x8x8xf32>
    %193 = stablehlo.select %48, %191, %192 : tensor<16x8x8x8xi1>, tensor<16x8x8x8xf32>
    %194 = stablehlo.reduce(%193 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %195 = stablehlo.reshape %194 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %196 = stablehlo.multiply %10, %193 : tensor<16x8x8x8xf32>
    %197 = stablehlo.reduce(%196 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %198 = stablehlo.reshape %197 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %199 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<16x8x8x8xf32>
    %200 = stablehlo.multiply %193, %199 : tensor<16x8x8x8xf32>
    %201 = stablehlo.reshape %195 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %202 = stablehlo.multiply %38, %195 : tensor<1x1x1x8xf32>
    %203 = stablehlo.add %198, %202 : tensor<1x1x1x8xf32>
    %204 = stablehlo.multiply %195, %37 : tensor<1x1x1x8xf32>
    %205 = stablehlo.negate %204 : tensor<1x1x1x8xf32>
    %206 = stablehlo.multiply %32, %203 : tensor<1x1x1x8xf32>
    %207 = stablehlo.multiply %203, %36 : tensor<1x1x1x8xf32>
    %208 = stablehlo.reshape %206 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %209 = stablehlo.multiply %207, %35 : tensor<1x1x1x8xf32>
    %210 = stablehlo.reshape %209 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %211 = stablehlo.reshape %205 : (tensor<1x1x1x8xf32>) -> tensor<8xf32>
    %212 = stablehlo.broadcast_in_dim %210, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %213 = stablehlo.broadcast_in_dim %211, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %214 = call @_var_10(%15#1, %15#2, %15#3, %15#4, %212) : (tensor<16x8x8x8xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>) -> tensor<16x8x8x8xf32>
    %215 = stablehlo.add %200, %214 : tensor<16x8x8x8xf32>
    %216 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %217 = stablehlo.divide %213, %216 : tensor<1x1x1x8xf32>
    %218 = stablehlo.reduce(%217 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %219 = stablehlo.broadcast_in_dim %218, dims = [3] : (tensor<8xf32>) -> tensor<16x8x8x8xf32>
    %220 = stablehlo.add %215, %219 : tensor<16x8x8x8xf32>
    %221 = stablehlo.convolution(%9, %220) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x8x8x1xf32>, tensor<16x8x8x8xf32>) -> tensor<3x3x1x8xf32>
    return %119#0, %221, %208, %201, %186, %173, %166, %147, %145, %22, %27, %63, %68, %135, %133, %134 : tensor<f32>, tensor<3x3x1x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<3x3x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<64x10xf32>, tensor<10xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<2xui32>, tensor<f32>, tensor<f32>
  }
  func.func private @_var(%arg0: tensor<16x8x8x8xf32>, %arg1: tensor<i32>) -> (tensor<1x1x1x8xf32>, tensor<16x8x8x8xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x8xf32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x1x1x8xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<16x8x8x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x8x8x8xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<16x8x8x8xf32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8x8x8xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<16x8x8x8xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %10 = stablehlo.subtract %cst_1, %9 : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %14 = stablehlo.divide %12, %13 : tensor<1x1x1x8xf32>
    %15 = stablehlo.compare GT, %10, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %16:2 = call @_where(%15, %14, %cst) : (tensor<i1>, tensor<1x1x1x8xf32>, tensor<f32>) -> (tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>)
    return %16#0, %8, %10, %15, %16#1 : tensor<1x1x1x8xf32>, tensor<16x8x8x8xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x8xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<1x1x1x8xf32>, %arg2: tensor<f32>) -> (tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<1x1x1x8xf32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    return %2, %3 : tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>
  }
  func.func private @relu(%arg0: tensor<16x8x8x8xf32>) -> tensor<16x8x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8x8x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<16x8x8x8xf32>
    return %1 : tensor<16x8x8x8xf32>
  }
  func.func private @_var_0(%arg0: tensor<16x4x4x16xf32>, %arg1: tensor<i32>) -> (tensor<1x1x1x16xf32>, tensor<16x4x4x16xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x16xf32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x1x1x16xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<16x4x4x16xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x4x4x16xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<16x4x4x16xf32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x4x4x16xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<16x4x4x16xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %10 = stablehlo.subtract %cst_1, %9 : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %14 = stablehlo.divide %12, %13 : tensor<1x1x1x16xf32>
    %15 = stablehlo.compare GT, %10, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %16:2 = call @_where_1(%15, %14, %cst) : (tensor<i1>, tensor<1x1x1x16xf32>, tensor<f32>) -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>)
    return %16#0, %8, %10, %15, %16#1 : tensor<1x1x1x16xf32>, tensor<16x4x4x16xf32>, tensor<f32>, tensor<i1>, tensor<1x1x1x16xf32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<1x1x1x16xf32>, %arg2: tensor<f32>) -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<1x1x1x16xf32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    return %2, %3 : tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
  }
  func.func private @relu_2(%arg0: tensor<16x4x4x16xf32>) -> tensor<16x4x4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x4x4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<16x4x4x16xf32>
    return %1 : tensor<16x4x4x16xf32>
  }
  func.func private @_bernoulli(%arg0: tensor<2xui32>, %arg1: tensor<f32>) -> tensor<16x64xi1> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = call @_uniform(%arg0, %cst, %cst_0) : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<16x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xi1>
    return %2 : tensor<16x64xi1>
  }
  func.func private @_uniform(%arg0: tensor<2xui32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<16x64xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<1065353216> : tensor<ui32>
    %c_0 = stablehlo.constant dense<9> : tensor<ui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui64>
    %c_2 = stablehlo.constant dense<1> : tensor<ui64>
    %c_3 = stablehlo.constant dense<64> : tensor<ui64>
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.convert %arg2 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %4 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %5 = stablehlo.reshape %4 : (tensor<1xui32>) -> tensor<ui32>
    %6 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %7 = stablehlo.reshape %6 : (tensor<1xui32>) -> tensor<ui32>
    %8 = stablehlo.iota dim = 0 : tensor<16x64xui64>
    %9 = stablehlo.iota dim = 1 : tensor<16x64xui64>
    %10 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui64>) -> tensor<16x64xui64>
    %11 = stablehlo.multiply %10, %8 : tensor<16x64xui64>
    %12 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui64>) -> tensor<16x64xui64>
    %13 = stablehlo.multiply %12, %9 : tensor<16x64xui64>
    %14 = stablehlo.add %11, %13 : tensor<16x64xui64>
    %15 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui64>) -> tensor<16x64xui64>
    %16 = stablehlo.shift_right_logical %14, %15 : tensor<16x64xui64>
    %17 = stablehlo.convert %14 : (tensor<16x64xui64>) -> tensor<16x64xui32>
    %18 = stablehlo.convert %16 : (tensor<16x64xui64>) -> tensor<16x64xui32>
    %19:2 = call @threefry2x32(%5, %7, %18, %17) : (tensor<ui32>, tensor<ui32>, tensor<16x64xui32>, tensor<16x64xui32>) -> (tensor<16x64xui32>, tensor<16x64xui32>)
    %20 = stablehlo.xor %19#0, %19#1 : tensor<16x64xui32>
    %21 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %22 = stablehlo.shift_right_logical %20, %21 : tensor<16x64xui32>
    %23 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %24 = stablehlo.or %22, %23 : tensor<16x64xui32>
    %25 = stablehlo.bitcast_convert %24 : (tensor<16x64xui32>) -> tensor<16x64xf32>
    %26 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %27 = stablehlo.subtract %25, %26 : tensor<16x64xf32>
    %28 = stablehlo.subtract %3, %2 : tensor<1x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<16x64xf32>
    %30 = stablehlo.multiply %27, %29 : tensor<16x64xf32>
    %31 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<16x64xf32>
    %32 = stablehlo.add %30, %31 : tensor<16x64xf32>
    %33 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<16x64xf32>
    %34 = stablehlo.maximum %33, %32 : tensor<16x64xf32>
    return %34 : tensor<16x64xf32>
  }
  func.func private @threefry2x32(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<16x64xui32>, %arg3: tensor<16x64xui32>) -> (tensor<16x64xui32>, tensor<16x64xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<466688986> : tensor<ui32>
    %c_3 = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_4 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<ui32>
    %1 = stablehlo.xor %0, %c_2 : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %3 = stablehlo.add %arg2, %2 : tensor<16x64xui32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %5 = stablehlo.add %arg3, %4 : tensor<16x64xui32>
    %6:9 = stablehlo.while(%iterArg = %c_1, %iterArg_5 = %c_1, %iterArg_6 = %3, %iterArg_7 = %5, %iterArg_8 = %arg1, %iterArg_9 = %1, %iterArg_10 = %arg0, %iterArg_11 = %c_3, %iterArg_12 = %c_4) : tensor<i32>, tensor<i32>, tensor<16x64xui32>, tensor<16x64xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %7 = stablehlo.compare LT, %iterArg, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:8 = func.call @closed_call(%iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11, %iterArg_12) : (tensor<i32>, tensor<16x64xui32>, tensor<16x64xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<16x64xui32>, tensor<16x64xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %8 = stablehlo.add %iterArg, %c : tensor<i32>
      stablehlo.return %8, %7#0, %7#1, %7#2, %7#3, %7#4, %7#5, %7#6, %7#7 : tensor<i32>, tensor<i32>, tensor<16x64xui32>, tensor<16x64xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %6#2, %6#3 : tensor<16x64xui32>, tensor<16x64xui32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<16x64xui32>, %arg2: tensor<16x64xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<16x64xui32>, tensor<16x64xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<32> : tensor<ui32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c_0 : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<16x64xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<16x64xui32>
    %6 = stablehlo.subtract %c, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<16x64xui32>
    %9 = stablehlo.or %5, %8 : tensor<16x64xui32>
    %10 = stablehlo.xor %3, %9 : tensor<16x64xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<16x64xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<16x64xui32>
    %16 = stablehlo.subtract %c, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<16x64xui32>
    %19 = stablehlo.or %15, %18 : tensor<16x64xui32>
    %20 = stablehlo.xor %13, %19 : tensor<16x64xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<16x64xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<16x64xui32>
    %26 = stablehlo.subtract %c, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<16x64xui32>
    %29 = stablehlo.or %25, %28 : tensor<16x64xui32>
    %30 = stablehlo.xor %23, %29 : tensor<16x64xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<16x64xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<16x64xui32>
    %36 = stablehlo.subtract %c, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<16x64xui32>
    %39 = stablehlo.or %35, %38 : tensor<16x64xui32>
    %40 = stablehlo.xor %33, %39 : tensor<16x64xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %42 = stablehlo.add %33, %41 : tensor<16x64xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %44 = stablehlo.add %40, %43 : tensor<16x64xui32>
    %45 = stablehlo.add %arg0, %c_0 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<16x64xui32>
    %48 = stablehlo.add %44, %47 : tensor<16x64xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<16x64xui32>, tensor<16x64xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @log_softmax(%arg0: tensor<16x10xf32>) -> (tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x1xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<16x10xf32>, tensor<f32>) -> tensor<16xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<16xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x10xf32>
    %6 = stablehlo.exponential %5 : tensor<16x10xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x10xf32>, tensor<f32>) -> tensor<16xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %9 = stablehlo.log %8 : tensor<16x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<16x10xf32>
    return %11, %6, %8 : tensor<16x10xf32>, tensor<16x10xf32>, tensor<16x1xf32>
  }
  func.func private @_one_hot(%arg0: tensor<16xi32>) -> tensor<16x10xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<16x1xi32>) -> tensor<16x10xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<16x10xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<16x10xi32>, tensor<16x10xi32>) -> tensor<16x10xi1>
    %5 = stablehlo.convert %4 : (tensor<16x10xi1>) -> tensor<16x10xf32>
    return %5 : tensor<16x10xf32>
  }
  func.func private @_where_3(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<i1>, tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @_where_4(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<i1>, tensor<f32>
    return %1, %cst : tensor<f32>, tensor<f32>
  }
  func.func private @signbit(%arg0: tensor<16x10xf32>) -> tensor<16x10xi1> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<31> : tensor<i32>
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<16x10xf32>) -> tensor<16x10xi32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x10xi32>
    %2 = stablehlo.shift_right_arithmetic %0, %1 : tensor<16x10xi32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x10xi32>
    %4 = stablehlo.compare NE, %2, %3, SIGNED : (tensor<16x10xi32>, tensor<16x10xi32>) -> tensor<16x10xi1>
    %5 = stablehlo.convert %4 : tensor<16x10xi1>
    return %5 : tensor<16x10xi1>
  }
  func.func private @_where_5(%arg0: tensor<16x10xi1>, %arg1: tensor<f32>, %arg2: tensor<16x10xf32>) -> (tensor<16x10xf32>, tensor<16x10xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<16x10xi1>, tensor<16x10xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    return %1, %2 : tensor<16x10xf32>, tensor<16x10xf32>
  }
  func.func private @argmax(%arg0: tensor<16x10xf32>) -> tensor<16xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<16x10xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<16x10xf32>, tensor<16x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<16xf32>, tensor<16xi32>)
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
    return %1#1 : tensor<16xi32>
  }
  func.func private @_where_6(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.select %arg0, %cst, %arg2 : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @log_softmax_7(%arg0: tensor<16x10xf32>, %arg1: tensor<16x1xf32>, %arg2: tensor<16x10xf32>) -> tensor<16x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.negate %arg2 : tensor<16x10xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x10xf32>, tensor<f32>) -> tensor<16xf32>
    %2 = stablehlo.reshape %1 : (tensor<16xf32>) -> tensor<16x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<16x1xf32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x1xf32>, tensor<f32>) -> tensor<16xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<16xf32>) -> tensor<16x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<16x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<16x10xf32>
    return %7 : tensor<16x10xf32>
  }
  func.func private @_var_8(%arg0: tensor<16x4x4x16xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<1x1x1x16xf32>, %arg4: tensor<1x1x1x16xf32>) -> tensor<16x4x4x16xf32> {
    %cst = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = call @_where_9(%arg2, %arg3, %arg4) : (tensor<i1>, tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %2 = stablehlo.divide %0, %1 : tensor<1x1x1x16xf32>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [3] : (tensor<16xf32>) -> tensor<16x4x4x16xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<16x4x4x16xf32>
    %6 = stablehlo.negate %5 : tensor<16x4x4x16xf32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x4x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %8 = stablehlo.reshape %7 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %10 = stablehlo.divide %8, %9 : tensor<1x1x1x16xf32>
    %11 = stablehlo.reduce(%10 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [3] : (tensor<16xf32>) -> tensor<16x4x4x16xf32>
    %13 = stablehlo.add %5, %12 : tensor<16x4x4x16xf32>
    return %13 : tensor<16x4x4x16xf32>
  }
  func.func private @_where_9(%arg0: tensor<i1>, %arg1: tensor<1x1x1x16xf32>, %arg2: tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x16xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<i1>, tensor<1x1x1x16xf32>
    return %1 : tensor<1x1x1x16xf32>
  }
  func.func private @_var_10(%arg0: tensor<16x8x8x8xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<1x1x1x8xf32>, %arg4: tensor<1x1x1x8xf32>) -> tensor<16x8x8x8xf32> {
    %cst = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = call @_where_11(%arg2, %arg3, %arg4) : (tensor<i1>, tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %2 = stablehlo.divide %0, %1 : tensor<1x1x1x8xf32>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [3] : (tensor<8xf32>) -> tensor<16x8x8x8xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<16x8x8x8xf32>
    %6 = stablehlo.negate %5 : tensor<16x8x8x8xf32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.reshape %7 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %10 = stablehlo.divide %8, %9 : tensor<1x1x1x8xf32>
    %11 = stablehlo.reduce(%10 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [3] : (tensor<8xf32>) -> tensor<16x8x8x8xf32>
    %13 = stablehlo.add %5, %12 : tensor<16x8x8x8xf32>
    return %13 : tensor<16x8x8x8xf32>
  }
  func.func private @_where_11(%arg0: tensor<i1>, %arg1: tensor<1x1x1x8xf32>, %arg2: tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x1x1x8xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<i1>, tensor<1x1x1x8xf32>
    return %1 : tensor<1x1x1x8xf32>
  }
}
