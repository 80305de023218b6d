module @jit_eval_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x32xf32> loc("characters"), %arg1: tensor<32xf32> loc("layer0/down/bias"), %arg2: tensor<128x32xf32> loc("layer0/down/kernel"), %arg3: tensor<32xf32> loc("layer0/norm1/bias"), %arg4: tensor<32xf32> loc("layer0/norm1/scale"), %arg5: tensor<32xf32> loc("layer0/norm2/bias"), %arg6: tensor<32xf32> loc("layer0/norm2/scale"), %arg7: tensor<32x32xf32> loc("layer0/out"), %arg8: tensor<32x96xf32> loc("layer0/qkv"), %arg9: tensor<128xf32> loc("layer0/up/bias"), %arg10: tensor<32x128xf32> loc("layer0/up/kernel"), %arg11: tensor<32xf32> loc("layer1/down/bias"), %arg12: tensor<128x32xf32> loc("layer1/down/kernel"), %arg13: tensor<32xf32> loc("layer1/norm1/bias"), %arg14: tensor<32xf32> loc("layer1/norm1/scale"), %arg15: tensor<32xf32> loc("layer1/norm2/bias"), %arg16: tensor<32xf32> loc("layer1/norm2/scale"), %arg17: tensor<32x32xf32> loc("layer1/out"), %arg18: tensor<32x96xf32> loc("layer1/qkv"), %arg19: tensor<128xf32> loc("layer1/up/bias"), %arg20: tensor<32x128xf32> loc("layer1/up/kernel"), %arg21: tensor<32xf32> loc("norm/bias"), %arg22: tensor<32xf32> loc("norm/scale"), %arg23: tensor<64x32xf32> loc("positions"), %arg24: tensor<16x65xui8> loc("text")) -> (tensor<f32> {jax.result_info = "accuracy/numerator"}, tensor<f32> {jax.result_info = "accuracy/denominator"}, tensor<f32> {jax.result_info = "loss"}) {
    %cst = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %cst_3 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_5 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %cst_6 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %cst_7 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %cst_8 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<128> : tensor<i32>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.convert %arg24 : (tensor<16x65xui8>) -> tensor<16x65xi32>
    %1 = stablehlo.slice %0 [0:16, 0:64] : (tensor<16x65xi32>) -> tensor<16x64xi32>
    %2 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %3 = stablehlo.compare LT, %1, %2, SIGNED : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %5 = stablehlo.add %1, %4 : tensor<16x64xi32>
    %6 = stablehlo.select %3, %5, %1 : tensor<16x64xi1>, tensor<16x64xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<16x64xi32>) -> tensor<16x64x1xi32>
    %8 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 32>}> : (tensor<128x32xf32>, tensor<16x64x1xi32>) -> tensor<16x64x32xf32>
    %9 = stablehlo.broadcast_in_dim %arg23, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x64x32xf32>) -> tensor<16x64x32xf32>
    %11 = stablehlo.add %8, %10 : tensor<16x64x32xf32>
    %12 = stablehlo.reduce(%11 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %14 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %15 = stablehlo.divide %13, %14 : tensor<16x64x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %17 = stablehlo.subtract %11, %16 : tensor<16x64x32xf32>
    %18 = stablehlo.multiply %17, %17 : tensor<16x64x32xf32>
    %19 = stablehlo.reduce(%18 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %21 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %22 = stablehlo.divide %20, %21 : tensor<16x64x1xf32>
    %23 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %24 = stablehlo.add %22, %23 : tensor<16x64x1xf32>
    %25 = stablehlo.rsqrt %24 : tensor<16x64x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %27 = stablehlo.multiply %17, %26 : tensor<16x64x32xf32>
    %28 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %30 = stablehlo.multiply %27, %29 : tensor<16x64x32xf32>
    %31 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %33 = stablehlo.add %30, %32 : tensor<16x64x32xf32>
    %34 = stablehlo.dot_general %33, %arg8, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x96xf32>) -> tensor<16x64x96xf32>
    %35 = stablehlo.slice %34 [0:16, 0:64, 0:32] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %36 = stablehlo.slice %34 [0:16, 0:64, 32:64] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %37 = stablehlo.slice %34 [0:16, 0:64, 64:96] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %38 = stablehlo.reshape %35 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %39 = stablehlo.reshape %36 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %40 = stablehlo.reshape %37 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %41 = stablehlo.dot_general %38, %39, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<16x64x4x8xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %42 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %43 = stablehlo.divide %41, %42 : tensor<16x4x64x64xf32>
    %44 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %45 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %46 = stablehlo.add %44, %45 : tensor<64x64xi32>
    %47 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %48 = stablehlo.compare GE, %46, %47, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %49 = call @_where(%48, %43, %cst_5) : (tensor<64x64xi1>, tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64x64xf32>
    %50 = stablehlo.reduce(%49 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %51 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x4x64xf32>
    %52 = stablehlo.maximum %51, %50 : tensor<16x4x64xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %55 = stablehlo.subtract %49, %54 : tensor<16x4x64x64xf32>
    %56 = stablehlo.exponential %55 : tensor<16x4x64x64xf32>
    %57 = stablehlo.reduce(%56 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %60 = stablehlo.divide %56, %59 : tensor<16x4x64x64xf32>
    %61 = stablehlo.dot_general %40, %60, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<16x64x4x8xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %62 = stablehlo.transpose %61, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %63 = stablehlo.reshape %62 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %64 = stablehlo.dot_general %63, %arg7, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %65 = stablehlo.add %11, %64 : tensor<16x64x32xf32>
    %66 = stablehlo.reduce(%65 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %68 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %69 = stablehlo.divide %67, %68 : tensor<16x64x1xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %71 = stablehlo.subtract %65, %70 : tensor<16x64x32xf32>
    %72 = stablehlo.multiply %71, %71 : tensor<16x64x32xf32>
    %73 = stablehlo.reduce(%72 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %75 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %76 = stablehlo.divide %74, %75 : tensor<16x64x1xf32>
    %77 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %78 = stablehlo.add %76, %77 : tensor<16x64x1xf32>
    %79 = stablehlo.rsqrt %78 : tensor<16x64x1xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %81 = stablehlo.multiply %71, %80 : tensor<16x64x32xf32>
    %82 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %84 = stablehlo.multiply %81, %83 : tensor<16x64x32xf32>
    %85 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %87 = stablehlo.add %84, %86 : tensor<16x64x32xf32>
    %88 = stablehlo.dot_general %87, %arg10, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %89 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<16x64x128xf32>
    %91 = stablehlo.add %88, %90 : tensor<16x64x128xf32>
    %92 = stablehlo.multiply %91, %91 : tensor<16x64x128xf32>
    %93 = stablehlo.multiply %92, %91 : tensor<16x64x128xf32>
    %94 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %95 = stablehlo.multiply %94, %93 : tensor<16x64x128xf32>
    %96 = stablehlo.add %91, %95 : tensor<16x64x128xf32>
    %97 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %98 = stablehlo.multiply %97, %96 : tensor<16x64x128xf32>
    %99 = stablehlo.tanh %98 : tensor<16x64x128xf32>
    %100 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %101 = stablehlo.add %100, %99 : tensor<16x64x128xf32>
    %102 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %103 = stablehlo.multiply %102, %101 : tensor<16x64x128xf32>
    %104 = stablehlo.multiply %91, %103 : tensor<16x64x128xf32>
    %105 = stablehlo.dot_general %104, %arg2, contracting_dims = [2] x [0] : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
    %106 = stablehlo.add %65, %105 : tensor<16x64x32xf32>
    %107 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %108 = stablehlo.broadcast_in_dim %107, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %109 = stablehlo.add %106, %108 : tensor<16x64x32xf32>
    %110 = stablehlo.reduce(%109 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %111 = stablehlo.broadcast_in_dim %110, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %112 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %113 = stablehlo.divide %111, %112 : tensor<16x64x1xf32>
    %114 = stablehlo.broadcast_in_dim %113, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %115 = stablehlo.subtract %109, %114 : tensor<16x64x32xf32>
    %116 = stablehlo.multiply %115, %115 : tensor<16x64x32xf32>
    %117 = stablehlo.reduce(%116 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %118 = stablehlo.broadcast_in_dim %117, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %119 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %120 = stablehlo.divide %118, %119 : tensor<16x64x1xf32>
    %121 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %122 = stablehlo.add %120, %121 : tensor<16x64x1xf32>
    %123 = stablehlo.rsqrt %122 : tensor<16x64x1xf32>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %125 = stablehlo.multiply %115, %124 : tensor<16x64x32xf32>
    %126 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %127 = stablehlo.broadcast_in_dim %126, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %128 = stablehlo.multiply %125, %127 : tensor<16x64x32xf32>
    %129 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %131 = stablehlo.add %128, %130 : tensor<16x64x32xf32>
    %132 = stablehlo.dot_general %131, %arg18, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x96xf32>) -> tensor<16x64x96xf32>
    %133 = stablehlo.slice %132 [0:16, 0:64, 0:32] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %134 = stablehlo.slice %132 [0:16, 0:64, 32:64] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %135 = stablehlo.slice %132 [0:16, 0:64, 64:96] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %136 = stablehlo.reshape %133 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %137 = stablehlo.reshape %134 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %138 = stablehlo.reshape %135 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %139 = stablehlo.dot_general %136, %137, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<16x64x4x8xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %140 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %141 = stablehlo.divide %139, %140 : tensor<16x4x64x64xf32>
    %142 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %143 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %144 = stablehlo.add %142, %143 : tensor<64x64xi32>
    %145 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %146 = stablehlo.compare GE, %144, %145, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %147 = call @_where(%146, %141, %cst_5) : (tensor<64x64xi1>, tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64x64xf32>
    %148 = stablehlo.reduce(%147 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %149 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x4x64xf32>
    %150 = stablehlo.maximum %149, %148 : tensor<16x4x64xf32>
    %151 = stablehlo.broadcast_in_dim %150, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %152 = stablehlo.broadcast_in_dim %151, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %153 = stablehlo.subtract %147, %152 : tensor<16x4x64x64xf32>
    %154 = stablehlo.exponential %153 : tensor<16x4x64x64xf32>
    %155 = stablehlo.reduce(%154 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %156 = stablehlo.broadcast_in_dim %155, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %157 = stablehlo.broadcast_in_dim %156, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %158 = stablehlo.divide %154, %157 : tensor<16x4x64x64xf32>
    %159 = stablehlo.dot_general %138, %158, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<16x64x4x8xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %160 = stablehlo.transpose %159, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %161 = stablehlo.reshape %160 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %162 = stablehlo.dot_general %161, %arg17, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %163 = stablehlo.add %109, %162 : tensor<16x64x32xf32>
    %164 = stablehlo.reduce(%163 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %165 = stablehlo.broadcast_in_dim %164, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %166 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %167 = stablehlo.divide %165, %166 : tensor<16x64x1xf32>
    %168 = stablehlo.broadcast_in_dim %167, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %169 = stablehlo.subtract %163, %168 : tensor<16x64x32xf32>
    %170 = stablehlo.multiply %169, %169 : tensor<16x64x32xf32>
    %171 = stablehlo.reduce(%170 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %173 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %174 = stablehlo.divide %172, %173 : tensor<16x64x1xf32>
    %175 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %176 = stablehlo.add %174, %175 : tensor<16x64x1xf32>
    %177 = stablehlo.rsqrt %176 : tensor<16x64x1xf32>
    %178 = stablehlo.broadcast_in_dim %177, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %179 = stablehlo.multiply %169, %178 : tensor<16x64x32xf32>
    %180 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %181 = stablehlo.broadcast_in_dim %180, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %182 = stablehlo.multiply %179, %181 : tensor<16x64x32xf32>
    %183 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %184 = stablehlo.broadcast_in_dim %183, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %185 = stablehlo.add %182, %184 : tensor<16x64x32xf32>
    %186 = stablehlo.dot_general %185, %arg20, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %187 = stablehlo.broadcast_in_dim %arg19, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<16x64x128xf32>
    %189 = stablehlo.add %186, %188 : tensor<16x64x128xf32>
    %190 = stablehlo.multiply %189, %189 : tensor<16x64x128xf32>
    %191 = stablehlo.multiply %190, %189 : tensor<16x64x128xf32>
    %192 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %193 = stablehlo.multiply %192, %191 : tensor<16x64x128xf32>
    %194 = stablehlo.add %189, %193 : tensor<16x64x128xf32>
    %195 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %196 = stablehlo.multiply %195, %194 : tensor<16x64x128xf32>
    %197 = stablehlo.tanh %196 : tensor<16x64x128xf32>
    %198 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %199 = stablehlo.add %198, %197 : tensor<16x64x128xf32>
    %200 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %201 = stablehlo.multiply %200, %199 : tensor<16x64x128xf32>
    %202 = stablehlo.multiply %189, %201 : tensor<16x64x128xf32>
    %203 = stablehlo.dot_general %202, %arg12, contracting_dims = [2] x [0] : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
    %204 = stablehlo.add %163, %203 : tensor<16x64x32xf32>
    %205 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %206 = stablehlo.broadcast_in_dim %205, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %207 = stablehlo.add %204, %206 : tensor<16x64x32xf32>
    %208 = stablehlo.reduce(%207 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %209 = stablehlo.broadcast_in_dim %208, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %210 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %211 = stablehlo.divide %209, %210 : tensor<16x64x1xf32>
    %212 = stablehlo.broadcast_in_dim %211, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %213 = stablehlo.subtract %207, %212 : tensor<16x64x32xf32>
    %214 = stablehlo.multiply %213, %213 : tensor<16x64x32xf32>
    %215 = stablehlo.reduce(%214 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %216 = stablehlo.broadcast_in_dim %215, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %217 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %218 = stablehlo.divide %216, %217 : tensor<16x64x1xf32>
    %219 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %220 = stablehlo.add %218, %219 : tensor<16x64x1xf32>
    %221 = stablehlo.rsqrt %220 : tensor<16x64x1xf32>
    %222 = stablehlo.broadcast_in_dim %221, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %223 = stablehlo.multiply %213, %222 : tensor<16x64x32xf32>
    %224 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %225 = stablehlo.broadcast_in_dim %224, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %226 = stablehlo.multiply %223, %225 : tensor<16x64x32xf32>
    %227 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %228 = stablehlo.broadcast_in_dim %227, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %229 = stablehlo.add %226, %228 : tensor<16x64x32xf32>
    %230 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %231 = stablehlo.dot_general %229, %230, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %232 = call @argmax(%231) : (tensor<16x64x128xf32>) -> tensor<16x64xi32>
    %233 = stablehlo.slice %0 [0:16, 1:65] : (tensor<16x65xi32>) -> tensor<16x64xi32>
    %234 = stablehlo.compare EQ, %232, %233, SIGNED : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
    %235 = stablehlo.convert %arg24 : (tensor<16x65xui8>) -> tensor<16x65xi32>
    %236 = stablehlo.slice %235 [0:16, 0:64] : (tensor<16x65xi32>) -> tensor<16x64xi32>
    %237 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %238 = stablehlo.compare LT, %236, %237, SIGNED : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
    %239 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %240 = stablehlo.add %236, %239 : tensor<16x64xi32>
    %241 = stablehlo.select %238, %240, %236 : tensor<16x64xi1>, tensor<16x64xi32>
    %242 = stablehlo.broadcast_in_dim %241, dims = [0, 1] : (tensor<16x64xi32>) -> tensor<16x64x1xi32>
    %243 = "stablehlo.gather"(%arg0, %242) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 32>}> : (tensor<128x32xf32>, tensor<16x64x1xi32>) -> tensor<16x64x32xf32>
    %244 = stablehlo.broadcast_in_dim %arg23, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
    %245 = stablehlo.broadcast_in_dim %244, dims = [0, 1, 2] : (tensor<1x64x32xf32>) -> tensor<16x64x32xf32>
    %246 = stablehlo.add %243, %245 : tensor<16x64x32xf32>
    %247 = stablehlo.reduce(%246 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %248 = stablehlo.broadcast_in_dim %247, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %249 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %250 = stablehlo.divide %248, %249 : tensor<16x64x1xf32>
    %251 = stablehlo.broadcast_in_dim %250, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %252 = stablehlo.subtract %246, %251 : tensor<16x64x32xf32>
    %253 = stablehlo.multiply %252, %252 : tensor<16x64x32xf32>
    %254 = stablehlo.reduce(%253 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %255 = stablehlo.broadcast_in_dim %254, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %256 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %257 = stablehlo.divide %255, %256 : tensor<16x64x1xf32>
    %258 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %259 = stablehlo.add %257, %258 : tensor<16x64x1xf32>
    %260 = stablehlo.rsqrt %259 : tensor<16x64x1xf32>
    %261 = stablehlo.broadcast_in_dim %260, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %262 = stablehlo.multiply %252, %261 : tensor<16x64x32xf32>
    %263 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %264 = stablehlo.broadcast_in_dim %263, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %265 = stablehlo.multiply %262, %264 : tensor<16x64x32xf32>
    %266 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %267 = stablehlo.broadcast_in_dim %266, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %268 = stablehlo.add %265, %267 : tensor<16x64x32xf32>
    %269 = stablehlo.dot_general %268, %arg8, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x96xf32>) -> tensor<16x64x96xf32>
    %270 = stablehlo.slice %269 [0:16, 0:64, 0:32] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %271 = stablehlo.slice %269 [0:16, 0:64, 32:64] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %272 = stablehlo.slice %269 [0:16, 0:64, 64:96] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %273 = stablehlo.reshape %270 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %274 = stablehlo.reshape %271 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %275 = stablehlo.reshape %272 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %276 = stablehlo.dot_general %273, %274, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<16x64x4x8xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %277 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %278 = stablehlo.divide %276, %277 : tensor<16x4x64x64xf32>
    %279 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %280 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %281 = stablehlo.add %279, %280 : tensor<64x64xi32>
    %282 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %283 = stablehlo.compare GE, %281, %282, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %284 = call @_where(%283, %278, %cst_5) : (tensor<64x64xi1>, tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64x64xf32>
    %285 = stablehlo.reduce(%284 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %286 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x4x64xf32>
    %287 = stablehlo.maximum %286, %285 : tensor<16x4x64xf32>
    %288 = stablehlo.broadcast_in_dim %287, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %289 = stablehlo.broadcast_in_dim %288, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %290 = stablehlo.subtract %284, %289 : tensor<16x4x64x64xf32>
    %291 = stablehlo.exponential %290 : tensor<16x4x64x64xf32>
    %292 = stablehlo.reduce(%291 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %293 = stablehlo.broadcast_in_dim %292, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %294 = stablehlo.broadcast_in_dim %293, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %295 = stablehlo.divide %291, %294 : tensor<16x4x64x64xf32>
    %296 = stablehlo.dot_general %275, %295, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<16x64x4x8xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %297 = stablehlo.transpose %296, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %298 = stablehlo.reshape %297 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %299 = stablehlo.dot_general %298, %arg7, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %300 = stablehlo.add %246, %299 : tensor<16x64x32xf32>
    %301 = stablehlo.reduce(%300 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %302 = stablehlo.broadcast_in_dim %301, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %303 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %304 = stablehlo.divide %302, %303 : tensor<16x64x1xf32>
    %305 = stablehlo.broadcast_in_dim %304, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %306 = stablehlo.subtract %300, %305 : tensor<16x64x32xf32>
    %307 = stablehlo.multiply %306, %306 : tensor<16x64x32xf32>
    %308 = stablehlo.reduce(%307 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %309 = stablehlo.broadcast_in_dim %308, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %310 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %311 = stablehlo.divide %309, %310 : tensor<16x64x1xf32>
    %312 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %313 = stablehlo.add %311, %312 : tensor<16x64x1xf32>
    %314 = stablehlo.rsqrt %313 : tensor<16x64x1xf32>
    %315 = stablehlo.broadcast_in_dim %314, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %316 = stablehlo.multiply %306, %315 : tensor<16x64x32xf32>
    %317 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %318 = stablehlo.broadcast_in_dim %317, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %319 = stablehlo.multiply %316, %318 : tensor<16x64x32xf32>
    %320 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %321 = stablehlo.broadcast_in_dim %320, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %322 = stablehlo.add %319, %321 : tensor<16x64x32xf32>
    %323 = stablehlo.dot_general %322, %arg10, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %324 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %325 = stablehlo.broadcast_in_dim %324, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<16x64x128xf32>
    %326 = stablehlo.add %323, %325 : tensor<16x64x128xf32>
    %327 = stablehlo.multiply %326, %326 : tensor<16x64x128xf32>
    %328 = stablehlo.multiply %327, %326 : tensor<16x64x128xf32>
    %329 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %330 = stablehlo.multiply %329, %328 : tensor<16x64x128xf32>
    %331 = stablehlo.add %326, %330 : tensor<16x64x128xf32>
    %332 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %333 = stablehlo.multiply %332, %331 : tensor<16x64x128xf32>
    %334 = stablehlo.tanh %333 : tensor<16x64x128xf32>
    %335 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %336 = stablehlo.add %335, %334 : tensor<16x64x128xf32>
    %337 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %338 = stablehlo.multiply %337, %336 : tensor<16x64x128xf32>
    %339 = stablehlo.multiply %326, %338 : tensor<16x64x128xf32>
    %340 = stablehlo.dot_general %339, %arg2, contracting_dims = [2] x [0] : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
    %341 = stablehlo.add %300, %340 : tensor<16x64x32xf32>
    %342 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %343 = stablehlo.broadcast_in_dim %342, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %344 = stablehlo.add %341, %343 : tensor<16x64x32xf32>
    %345 = stablehlo.reduce(%344 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %346 = stablehlo.broadcast_in_dim %345, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %347 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %348 = stablehlo.divide %346, %347 : tensor<16x64x1xf32>
    %349 = stablehlo.broadcast_in_dim %348, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %350 = stablehlo.subtract %344, %349 : tensor<16x64x32xf32>
    %351 = stablehlo.multiply %350, %350 : tensor<16x64x32xf32>
    %352 = stablehlo.reduce(%351 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %353 = stablehlo.broadcast_in_dim %352, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %354 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %355 = stablehlo.divide %353, %354 : tensor<16x64x1xf32>
    %356 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %357 = stablehlo.add %355, %356 : tensor<16x64x1xf32>
    %358 = stablehlo.rsqrt %357 : tensor<16x64x1xf32>
    %359 = stablehlo.broadcast_in_dim %358, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %360 = stablehlo.multiply %350, %359 : tensor<16x64x32xf32>
    %361 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %362 = stablehlo.broadcast_in_dim %361, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %363 = stablehlo.multiply %360, %362 : tensor<16x64x32xf32>
    %364 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %365 = stablehlo.broadcast_in_dim %364, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %366 = stablehlo.add %363, %365 : tensor<16x64x32xf32>
    %367 = stablehlo.dot_general %366, %arg18, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x96xf32>) -> tensor<16x64x96xf32>
    %368 = stablehlo.slice %367 [0:16, 0:64, 0:32] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %369 = stablehlo.slice %367 [0:16, 0:64, 32:64] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %370 = stablehlo.slice %367 [0:16, 0:64, 64:96] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %371 = stablehlo.reshape %368 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %372 = stablehlo.reshape %369 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %373 = stablehlo.reshape %370 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %374 = stablehlo.dot_general %371, %372, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<16x64x4x8xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %375 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %376 = stablehlo.divide %374, %375 : tensor<16x4x64x64xf32>
    %377 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %378 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %379 = stablehlo.add %377, %378 : tensor<64x64xi32>
    %380 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %381 = stablehlo.compare GE, %379, %380, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %382 = call @_where(%381, %376, %cst_5) : (tensor<64x64xi1>, tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64x64xf32>
    %383 = stablehlo.reduce(%382 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %384 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x4x64xf32>
    %385 = stablehlo.maximum %384, %383 : tensor<16x4x64xf32>
    %386 = stablehlo.broadcast_in_dim %385, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %387 = stablehlo.broadcast_in_dim %386, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %388 = stablehlo.subtract %382, %387 : tensor<16x4x64x64xf32>
    %389 = stablehlo.exponential %388 : tensor<16x4x64x64xf32>
    %390 = stablehlo.reduce(%389 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %391 = stablehlo.broadcast_in_dim %390, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %392 = stablehlo.broadcast_in_dim %391, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %393 = stablehlo.divide %389, %392 : tensor<16x4x64x64xf32>
    %394 = stablehlo.dot_general %373, %393, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<16x64x4x8xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %395 = stablehlo.transpose %394, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %396 = stablehlo.reshape %395 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %397 = stablehlo.dot_general %396, %arg17, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %398 = stablehlo.add %344, %397 : tensor<16x64x32xf32>
    %399 = stablehlo.reduce(%398 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %400 = stablehlo.broadcast_in_dim %399, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %401 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %402 = stablehlo.divide %400, %401 : tensor<16x64x1xf32>
    %403 = stablehlo.broadcast_in_dim %402, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %404 = stablehlo.subtract %398, %403 : tensor<16x64x32xf32>
    %405 = stablehlo.multiply %404, %404 : tensor<16x64x32xf32>
    %406 = stablehlo.reduce(%405 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %407 = stablehlo.broadcast_in_dim %406, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %408 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %409 = stablehlo.divide %407, %408 : tensor<16x64x1xf32>
    %410 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %411 = stablehlo.add %409, %410 : tensor<16x64x1xf32>
    %412 = stablehlo.rsqrt %411 : tensor<16x64x1xf32>
    %413 = stablehlo.broadcast_in_dim %412, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %414 = stablehlo.multiply %404, %413 : tensor<16x64x32xf32>
    %415 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %416 = stablehlo.broadcast_in_dim %415, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %417 = stablehlo.multiply %414, %416 : tensor<16x64x32xf32>
    %418 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %419 = stablehlo.broadcast_in_dim %418, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %420 = stablehlo.add %417, %419 : tensor<16x64x32xf32>
    %421 = stablehlo.dot_general %420, %arg20, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %422 = stablehlo.broadcast_in_dim %arg19, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %423 = stablehlo.broadcast_in_dim %422, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<16x64x128xf32>
    %424 = stablehlo.add %421, %423 : tensor<16x64x128xf32>
    %425 = stablehlo.multiply %424, %424 : tensor<16x64x128xf32>
    %426 = stablehlo.multiply %425, %424 : tensor<16x64x128xf32>
    %427 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %428 = stablehlo.multiply %427, %426 : tensor<16x64x128xf32>
    %429 = stablehlo.add %424, %428 : tensor<16x64x128xf32>
    %430 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %431 = stablehlo.multiply %430, %429 : tensor<16x64x128xf32>
    %432 = stablehlo.tanh %431 : tensor<16x64x128xf32>
    %433 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %434 = stablehlo.add %433, %432 : tensor<16x64x128xf32>
    %435 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %436 = stablehlo.multiply %435, %434 : tensor<16x64x128xf32>
    %437 = stablehlo.multiply %424, %436 : tensor<16x64x128xf32>
    %438 = stablehlo.dot_general %437, %arg12, contracting_dims = [2] x [0] : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
    %439 = stablehlo.add %398, %438 : tensor<16x64x32xf32>
    %440 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %441 = stablehlo.broadcast_in_dim %440, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %442 = stablehlo.add %439, %441 : tensor<16x64x32xf32>
    %443 = stablehlo.reduce(%442 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %444 = stablehlo.broadcast_in_dim %443, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %445 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %446 = stablehlo.divide %444, %445 : tensor<16x64x1xf32>
    %447 = stablehlo.broadcast_in_dim %446, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %448 = stablehlo.subtract %442, %447 : tensor<16x64x32xf32>
    %449 = stablehlo.multiply %448, %448 : tensor<16x64x32xf32>
    %450 = stablehlo.reduce(%449 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %451 = stablehlo.broadcast_in_dim %450, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %452 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %453 = stablehlo.divide %451, %452 : tensor<16x64x1xf32>
    %454 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %455 = stablehlo.add %453, %454 : tensor<16x64x1xf32>
    %456 = stablehlo.rsqrt %455 : tensor<16x64x1xf32>
    %457 = stablehlo.broadcast_in_dim %456, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %458 = stablehlo.multiply %448, %457 : tensor<16x64x32xf32>
    %459 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %460 = stablehlo.broadcast_in_dim %459, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %461 = stablehlo.multiply %458, %460 : tensor<16x64x32xf32>
    %462 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %463 = stablehlo.broadcast_in_dim %462, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %464 = stablehlo.add %461, %463 : tensor<16x64x32xf32>
    %465 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %466 = stablehlo.dot_general %464, %465, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %467 = call @log_softmax(%466) : (tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
    %468 = stablehlo.slice %235 [0:16, 1:65] : (tensor<16x65xi32>) -> tensor<16x64xi32>
    %469 = call @_one_hot(%468) : (tensor<16x64xi32>) -> tensor<16x64x128xf32>
    %470 = stablehlo.multiply %469, %467 : tensor<16x64x128xf32>
    %471 = stablehlo.reduce(%470 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<16x64xf32>
    %472 = stablehlo.reduce(%471 init: %cst_9) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<f32>
    %473 = stablehlo.divide %472, %cst : tensor<f32>
    %474 = stablehlo.negate %473 : tensor<f32>
    %475 = stablehlo.convert %234 : (tensor<16x64xi1>) -> tensor<16x64xf32>
    %476 = stablehlo.reduce(%475 init: %cst_9) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<f32>
    return %476, %cst, %474 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func private @_where(%arg0: tensor<64x64xi1>, %arg1: tensor<16x4x64x64xf32>, %arg2: tensor<f32>) -> tensor<16x4x64x64xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<64x64xi1>) -> tensor<16x4x64x64xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>
    return %3 : tensor<16x4x64x64xf32>
  }
  func.func private @argmax(%arg0: tensor<16x64x128xf32>) -> tensor<16x64xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 2 : tensor<16x64x128xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [2] : (tensor<16x64x128xf32>, tensor<16x64x128xi32>, tensor<f32>, tensor<i32>) -> (tensor<16x64xf32>, tensor<16x64xi32>)
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
    return %1#1 : tensor<16x64xi32>
  }
  func.func private @log_softmax(%arg0: tensor<16x64x128xf32>) -> tensor<16x64x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [2] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<16x64xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x128xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x64x128xf32>
    %6 = stablehlo.exponential %5 : tensor<16x64x128xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<16x64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %9 = stablehlo.log %8 : tensor<16x64x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x128xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<16x64x128xf32>
    return %11 : tensor<16x64x128xf32>
  }
  func.func private @_one_hot(%arg0: tensor<16x64xi32>) -> tensor<16x64x128xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<16x64xi32>) -> tensor<16x64x1xi32>
    %1 = stablehlo.iota dim = 2 : tensor<1x1x128xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<16x64x1xi32>) -> tensor<16x64x128xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x128xi32>) -> tensor<16x64x128xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<16x64x128xi32>, tensor<16x64x128xi32>) -> tensor<16x64x128xi1>
    %5 = stablehlo.convert %4 : (tensor<16x64x128xi1>) -> tensor<16x64x128xf32>
    return %5 : tensor<16x64x128xf32>
  }
}
