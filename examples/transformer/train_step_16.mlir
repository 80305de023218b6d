module @jit_train_step attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x32xf32> loc("characters"), %arg1: tensor<32xf32> loc("layer0/down/bias"), %arg2: tensor<128x32xf32> loc("layer0/down/kernel"), %arg3: tensor<32xf32> loc("layer0/norm1/bias"), %arg4: tensor<32xf32> loc("layer0/norm1/scale"), %arg5: tensor<32xf32> loc("layer0/norm2/bias"), %arg6: tensor<32xf32> loc("layer0/norm2/scale"), %arg7: tensor<32x32xf32> loc("layer0/out"), %arg8: tensor<32x96xf32> loc("layer0/qkv"), %arg9: tensor<128xf32> loc("layer0/up/bias"), %arg10: tensor<32x128xf32> loc("layer0/up/kernel"), %arg11: tensor<32xf32> loc("layer1/down/bias"), %arg12: tensor<128x32xf32> loc("layer1/down/kernel"), %arg13: tensor<32xf32> loc("layer1/norm1/bias"), %arg14: tensor<32xf32> loc("layer1/norm1/scale"), %arg15: tensor<32xf32> loc("layer1/norm2/bias"), %arg16: tensor<32xf32> loc("layer1/norm2/scale"), %arg17: tensor<32x32xf32> loc("layer1/out"), %arg18: tensor<32x96xf32> loc("layer1/qkv"), %arg19: tensor<128xf32> loc("layer1/up/bias"), %arg20: tensor<32x128xf32> loc("layer1/up/kernel"), %arg21: tensor<32xf32> loc("norm/bias"), %arg22: tensor<32xf32> loc("norm/scale"), %arg23: tensor<64x32xf32> loc("positions"), %arg24: tensor<16x65xui8> loc("text")) -> (tensor<f32> {jax.result_info = "loss"}, tensor<128x32xf32> {jax.result_info = "gradient characters"}, tensor<32xf32> {jax.result_info = "gradient layer0/down/bias"}, tensor<128x32xf32> {jax.result_info = "gradient layer0/down/kernel"}, tensor<32xf32> {jax.result_info = "gradient layer0/norm1/bias"}, tensor<32xf32> {jax.result_info = "gradient layer0/norm1/scale"}, tensor<32xf32> {jax.result_info = "gradient layer0/norm2/bias"}, tensor<32xf32> {jax.result_info = "gradient layer0/norm2/scale"}, tensor<32x32xf32> {jax.result_info = "gradient layer0/out"}, tensor<32x96xf32> {jax.result_info = "gradient layer0/qkv"}, tensor<128xf32> {jax.result_info = "gradient layer0/up/bias"}, tensor<32x128xf32> {jax.result_info = "gradient layer0/up/kernel"}, tensor<32xf32> {jax.result_info = "gradient layer1/down/bias"}, tensor<128x32xf32> {jax.result_info = "gradient layer1/down/kernel"}, tensor<32xf32> {jax.result_info = "gradient layer1/norm1/bias"}, tensor<32xf32> {jax.result_info = "gradient layer1/norm1/scale"}, tensor<32xf32> {jax.result_info = "gradient layer1/norm2/bias"}, tensor<32xf32> {jax.result_info = "gradient layer1/norm2/scale"}, tensor<32x32xf32> {jax.result_info = "gradient layer1/out"}, tensor<32x96xf32> {jax.result_info = "gradient layer1/qkv"}, tensor<128xf32> {jax.result_info = "gradient layer1/up/bias"}, tensor<32x128xf32> {jax.result_info = "gradient layer1/up/kernel"}, tensor<32xf32> {jax.result_info = "gradient norm/bias"}, tensor<32xf32> {jax.result_info = "gradient norm/scale"}, tensor<64x32xf32> {jax.result_info = "gradient positions"}) {
    %cst = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %cst_3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_6 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %cst_7 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %cst_8 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %cst_9 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %cst_10 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<128> : tensor<i32>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.convert %arg24 : (tensor<16x65xui8>) -> tensor<16x65xi32>
    %1 = stablehlo.slice %0 [0:16, 0:64] : (tensor<16x65xi32>) -> tensor<16x64xi32>
    %2 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %3 = stablehlo.compare LT, %1, %2, SIGNED : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %5 = stablehlo.add %1, %4 : tensor<16x64xi32>
    %6 = stablehlo.select %3, %5, %1 : tensor<16x64xi1>, tensor<16x64xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<16x64xi32>) -> tensor<16x64x1xi32>
    %8 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 32>}> : (tensor<128x32xf32>, tensor<16x64x1xi32>) -> tensor<16x64x32xf32>
    %9 = stablehlo.broadcast_in_dim %arg23, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x64x32xf32>) -> tensor<16x64x32xf32>
    %11 = stablehlo.add %8, %10 : tensor<16x64x32xf32>
    %12 = stablehlo.reduce(%11 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %14 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %15 = stablehlo.divide %13, %14 : tensor<16x64x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %17 = stablehlo.subtract %11, %16 : tensor<16x64x32xf32>
    %18 = stablehlo.multiply %17, %17 : tensor<16x64x32xf32>
    %19 = stablehlo.reduce(%18 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %21 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %22 = stablehlo.divide %20, %21 : tensor<16x64x1xf32>
    %23 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %24 = stablehlo.add %22, %23 : tensor<16x64x1xf32>
    %25 = stablehlo.rsqrt %24 : tensor<16x64x1xf32>
    %26 = stablehlo.divide %25, %24 : tensor<16x64x1xf32>
    %27 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %28 = stablehlo.multiply %27, %26 : tensor<16x64x1xf32>
    %29 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %30 = stablehlo.multiply %17, %29 : tensor<16x64x32xf32>
    %31 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %33 = stablehlo.multiply %30, %32 : tensor<16x64x32xf32>
    %34 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %36 = stablehlo.add %33, %35 : tensor<16x64x32xf32>
    %37 = stablehlo.dot_general %36, %arg8, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x96xf32>) -> tensor<16x64x96xf32>
    %38 = stablehlo.slice %37 [0:16, 0:64, 0:32] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %39 = stablehlo.slice %37 [0:16, 0:64, 32:64] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %40 = stablehlo.slice %37 [0:16, 0:64, 64:96] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %41 = stablehlo.reshape %38 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %42 = stablehlo.reshape %39 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %43 = stablehlo.reshape %40 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %44 = stablehlo.dot_general %41, %42, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<16x64x4x8xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %45 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %46 = stablehlo.divide %44, %45 : tensor<16x4x64x64xf32>
    %47 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %48 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %49 = stablehlo.add %47, %48 : tensor<64x64xi32>
    %50 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %51 = stablehlo.compare GE, %49, %50, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %52:3 = call @_where(%51, %46, %cst_6) : (tensor<64x64xi1>, tensor<16x4x64x64xf32>, tensor<f32>) -> (tensor<16x4x64x64xf32>, tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>)
    %53 = stablehlo.reduce(%52#0 init: %cst_5) applies stablehlo.maximum across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %54 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x4x64xf32>
    %55 = stablehlo.maximum %54, %53 : tensor<16x4x64xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %58 = stablehlo.subtract %52#0, %57 : tensor<16x4x64x64xf32>
    %59 = stablehlo.exponential %58 : tensor<16x4x64x64xf32>
    %60 = stablehlo.reduce(%59 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %63 = stablehlo.divide %59, %62 : tensor<16x4x64x64xf32>
    %64 = stablehlo.multiply %61, %61 : tensor<16x4x64x1xf32>
    %65 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x4x64x1xf32>
    %66 = stablehlo.divide %65, %64 : tensor<16x4x64x1xf32>
    %67 = stablehlo.dot_general %43, %63, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<16x64x4x8xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %68 = stablehlo.transpose %67, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %69 = stablehlo.reshape %68 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %70 = stablehlo.dot_general %69, %arg7, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %71 = stablehlo.add %11, %70 : tensor<16x64x32xf32>
    %72 = stablehlo.reduce(%71 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %74 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %75 = stablehlo.divide %73, %74 : tensor<16x64x1xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %77 = stablehlo.subtract %71, %76 : tensor<16x64x32xf32>
    %78 = stablehlo.multiply %77, %77 : tensor<16x64x32xf32>
    %79 = stablehlo.reduce(%78 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %81 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %82 = stablehlo.divide %80, %81 : tensor<16x64x1xf32>
    %83 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %84 = stablehlo.add %82, %83 : tensor<16x64x1xf32>
    %85 = stablehlo.rsqrt %84 : tensor<16x64x1xf32>
    %86 = stablehlo.divide %85, %84 : tensor<16x64x1xf32>
    %87 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %88 = stablehlo.multiply %87, %86 : tensor<16x64x1xf32>
    %89 = stablehlo.broadcast_in_dim %85, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %90 = stablehlo.multiply %77, %89 : tensor<16x64x32xf32>
    %91 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %92 = stablehlo.broadcast_in_dim %91, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %93 = stablehlo.multiply %90, %92 : tensor<16x64x32xf32>
    %94 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %96 = stablehlo.add %93, %95 : tensor<16x64x32xf32>
    %97 = stablehlo.dot_general %96, %arg10, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %98 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<16x64x128xf32>
    %100 = stablehlo.add %97, %99 : tensor<16x64x128xf32>
    %101 = stablehlo.multiply %100, %100 : tensor<16x64x128xf32>
    %102 = stablehlo.multiply %101, %100 : tensor<16x64x128xf32>
    %103 = stablehlo.multiply %100, %100 : tensor<16x64x128xf32>
    %104 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %105 = stablehlo.multiply %104, %103 : tensor<16x64x128xf32>
    %106 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %107 = stablehlo.multiply %106, %102 : tensor<16x64x128xf32>
    %108 = stablehlo.add %100, %107 : tensor<16x64x128xf32>
    %109 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %110 = stablehlo.multiply %109, %108 : tensor<16x64x128xf32>
    %111 = stablehlo.tanh %110 : tensor<16x64x128xf32>
    %112 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %113 = stablehlo.subtract %112, %111 : tensor<16x64x128xf32>
    %114 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %115 = stablehlo.add %114, %111 : tensor<16x64x128xf32>
    %116 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %117 = stablehlo.multiply %116, %115 : tensor<16x64x128xf32>
    %118 = stablehlo.multiply %100, %117 : tensor<16x64x128xf32>
    %119 = stablehlo.dot_general %118, %arg2, contracting_dims = [2] x [0] : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
    %120 = stablehlo.add %71, %119 : tensor<16x64x32xf32>
    %121 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %123 = stablehlo.add %120, %122 : tensor<16x64x32xf32>
    %124 = stablehlo.reduce(%123 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %126 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %127 = stablehlo.divide %125, %126 : tensor<16x64x1xf32>
    %128 = stablehlo.broadcast_in_dim %127, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %129 = stablehlo.subtract %123, %128 : tensor<16x64x32xf32>
    %130 = stablehlo.multiply %129, %129 : tensor<16x64x32xf32>
    %131 = stablehlo.reduce(%130 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %133 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %134 = stablehlo.divide %132, %133 : tensor<16x64x1xf32>
    %135 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %136 = stablehlo.add %134, %135 : tensor<16x64x1xf32>
    %137 = stablehlo.rsqrt %136 : tensor<16x64x1xf32>
    %138 = stablehlo.divide %137, %136 : tensor<16x64x1xf32>
    %139 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %140 = stablehlo.multiply %139, %138 : tensor<16x64x1xf32>
    %141 = stablehlo.broadcast_in_dim %137, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %142 = stablehlo.multiply %129, %141 : tensor<16x64x32xf32>
    %143 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %144 = stablehlo.broadcast_in_dim %143, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %145 = stablehlo.multiply %142, %144 : tensor<16x64x32xf32>
    %146 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %147 = stablehlo.broadcast_in_dim %146, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %148 = stablehlo.add %145, %147 : tensor<16x64x32xf32>
    %149 = stablehlo.dot_general %148, %arg18, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x96xf32>) -> tensor<16x64x96xf32>
    %150 = stablehlo.slice %149 [0:16, 0:64, 0:32] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %151 = stablehlo.slice %149 [0:16, 0:64, 32:64] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %152 = stablehlo.slice %149 [0:16, 0:64, 64:96] : (tensor<16x64x96xf32>) -> tensor<16x64x32xf32>
    %153 = stablehlo.reshape %150 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %154 = stablehlo.reshape %151 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %155 = stablehlo.reshape %152 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %156 = stablehlo.dot_general %153, %154, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<16x64x4x8xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %157 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %158 = stablehlo.divide %156, %157 : tensor<16x4x64x64xf32>
    %159 = stablehlo.iota dim = 0 : tensor<64x64xi32>
    %160 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<64x64xi32>
    %161 = stablehlo.add %159, %160 : tensor<64x64xi32>
    %162 = stablehlo.iota dim = 1 : tensor<64x64xi32>
    %163 = stablehlo.compare GE, %161, %162, SIGNED : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %164:3 = call @_where(%163, %158, %cst_6) : (tensor<64x64xi1>, tensor<16x4x64x64xf32>, tensor<f32>) -> (tensor<16x4x64x64xf32>, tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>)
    %165 = stablehlo.reduce(%164#0 init: %cst_5) applies stablehlo.maximum across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %166 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x4x64xf32>
    %167 = stablehlo.maximum %166, %165 : tensor<16x4x64xf32>
    %168 = stablehlo.broadcast_in_dim %167, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %169 = stablehlo.broadcast_in_dim %168, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %170 = stablehlo.subtract %164#0, %169 : tensor<16x4x64x64xf32>
    %171 = stablehlo.exponential %170 : tensor<16x4x64x64xf32>
    %172 = stablehlo.reduce(%171 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %173 = stablehlo.broadcast_in_dim %172, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %174 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %175 = stablehlo.divide %171, %174 : tensor<16x4x64x64xf32>
    %176 = stablehlo.multiply %173, %173 : tensor<16x4x64x1xf32>
    %177 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x4x64x1xf32>
    %178 = stablehlo.divide %177, %176 : tensor<16x4x64x1xf32>
    %179 = stablehlo.dot_general %155, %175, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<16x64x4x8xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %180 = stablehlo.transpose %179, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %181 = stablehlo.reshape %180 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %182 = stablehlo.dot_general %181, %arg17, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %183 = stablehlo.add %123, %182 : tensor<16x64x32xf32>
    %184 = stablehlo.reduce(%183 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %185 = stablehlo.broadcast_in_dim %184, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %186 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %187 = stablehlo.divide %185, %186 : tensor<16x64x1xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %189 = stablehlo.subtract %183, %188 : tensor<16x64x32xf32>
    %190 = stablehlo.multiply %189, %189 : tensor<16x64x32xf32>
    %191 = stablehlo.reduce(%190 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %192 = stablehlo.broadcast_in_dim %191, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %193 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %194 = stablehlo.divide %192, %193 : tensor<16x64x1xf32>
    %195 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %196 = stablehlo.add %194, %195 : tensor<16x64x1xf32>
    %197 = stablehlo.rsqrt %196 : tensor<16x64x1xf32>
    %198 = stablehlo.divide %197, %196 : tensor<16x64x1xf32>
    %199 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %200 = stablehlo.multiply %199, %198 : tensor<16x64x1xf32>
    %201 = stablehlo.broadcast_in_dim %197, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %202 = stablehlo.multiply %189, %201 : tensor<16x64x32xf32>
    %203 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %204 = stablehlo.broadcast_in_dim %203, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %205 = stablehlo.multiply %202, %204 : tensor<16x64x32xf32>
    %206 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %207 = stablehlo.broadcast_in_dim %206, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %208 = stablehlo.add %205, %207 : tensor<16x64x32xf32>
    %209 = stablehlo.dot_general %208, %arg20, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %210 = stablehlo.broadcast_in_dim %arg19, dims = [2] : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %211 = stablehlo.broadcast_in_dim %210, dims = [0, 1, 2] : (tensor<1x1x128xf32>) -> tensor<16x64x128xf32>
    %212 = stablehlo.add %209, %211 : tensor<16x64x128xf32>
    %213 = stablehlo.multiply %212, %212 : tensor<16x64x128xf32>
    %214 = stablehlo.multiply %213, %212 : tensor<16x64x128xf32>
    %215 = stablehlo.multiply %212, %212 : tensor<16x64x128xf32>
    %216 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %217 = stablehlo.multiply %216, %215 : tensor<16x64x128xf32>
    %218 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %219 = stablehlo.multiply %218, %214 : tensor<16x64x128xf32>
    %220 = stablehlo.add %212, %219 : tensor<16x64x128xf32>
    %221 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %222 = stablehlo.multiply %221, %220 : tensor<16x64x128xf32>
    %223 = stablehlo.tanh %222 : tensor<16x64x128xf32>
    %224 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %225 = stablehlo.subtract %224, %223 : tensor<16x64x128xf32>
    %226 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %227 = stablehlo.add %226, %223 : tensor<16x64x128xf32>
    %228 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %229 = stablehlo.multiply %228, %227 : tensor<16x64x128xf32>
    %230 = stablehlo.multiply %212, %229 : tensor<16x64x128xf32>
    %231 = stablehlo.dot_general %230, %arg12, contracting_dims = [2] x [0] : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
    %232 = stablehlo.add %183, %231 : tensor<16x64x32xf32>
    %233 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %234 = stablehlo.broadcast_in_dim %233, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %235 = stablehlo.add %232, %234 : tensor<16x64x32xf32>
    %236 = stablehlo.reduce(%235 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %237 = stablehlo.broadcast_in_dim %236, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %238 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %239 = stablehlo.divide %237, %238 : tensor<16x64x1xf32>
    %240 = stablehlo.broadcast_in_dim %239, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %241 = stablehlo.subtract %235, %240 : tensor<16x64x32xf32>
    %242 = stablehlo.multiply %241, %241 : tensor<16x64x32xf32>
    %243 = stablehlo.reduce(%242 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %244 = stablehlo.broadcast_in_dim %243, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %245 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %246 = stablehlo.divide %244, %245 : tensor<16x64x1xf32>
    %247 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %248 = stablehlo.add %246, %247 : tensor<16x64x1xf32>
    %249 = stablehlo.rsqrt %248 : tensor<16x64x1xf32>
    %250 = stablehlo.divide %249, %248 : tensor<16x64x1xf32>
    %251 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %252 = stablehlo.multiply %251, %250 : tensor<16x64x1xf32>
    %253 = stablehlo.broadcast_in_dim %249, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %254 = stablehlo.multiply %241, %253 : tensor<16x64x32xf32>
    %255 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %256 = stablehlo.broadcast_in_dim %255, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %257 = stablehlo.multiply %254, %256 : tensor<16x64x32xf32>
    %258 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %259 = stablehlo.broadcast_in_dim %258, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %260 = stablehlo.add %257, %259 : tensor<16x64x32xf32>
    %261 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %262 = stablehlo.dot_general %260, %261, contracting_dims = [2] x [0] : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
    %263:3 = call @log_softmax(%262) : (tensor<16x64x128xf32>) -> (tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x1xf32>)
    %264 = stablehlo.slice %0 [0:16, 1:65] : (tensor<16x65xi32>) -> tensor<16x64xi32>
    %265 = call @_one_hot(%264) : (tensor<16x64xi32>) -> tensor<16x64x128xf32>
    %266 = stablehlo.multiply %265, %263#0 : tensor<16x64x128xf32>
    %267 = stablehlo.reduce(%266 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<16x64xf32>
    %268 = stablehlo.reduce(%267 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<f32>
    %269 = stablehlo.divide %268, %cst : tensor<f32>
    %270 = stablehlo.negate %269 : tensor<f32>
    %271 = stablehlo.negate %cst_4 : tensor<f32>
    %272 = stablehlo.divide %271, %cst : tensor<f32>
    %273 = stablehlo.broadcast_in_dim %272, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %274 = stablehlo.broadcast_in_dim %273, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x128xf32>
    %275 = stablehlo.multiply %265, %274 : tensor<16x64x128xf32>
    %276 = call @log_softmax_0(%263#1, %263#2, %275) : (tensor<16x64x128xf32>, tensor<16x64x1xf32>, tensor<16x64x128xf32>) -> tensor<16x64x128xf32>
    %277 = stablehlo.dot_general %276, %260, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x128xf32>, tensor<16x64x32xf32>) -> tensor<128x32xf32>
    %278 = stablehlo.transpose %277, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %279 = stablehlo.dot_general %276, %261, contracting_dims = [2] x [1] : (tensor<16x64x128xf32>, tensor<32x128xf32>) -> tensor<16x64x32xf32>
    %280 = stablehlo.transpose %278, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %281 = stablehlo.reduce(%279 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %282 = stablehlo.reshape %281 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %283 = stablehlo.reduce(%282 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %284 = stablehlo.multiply %254, %279 : tensor<16x64x32xf32>
    %285 = stablehlo.reduce(%284 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %286 = stablehlo.reshape %285 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %287 = stablehlo.broadcast_in_dim %255, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %288 = stablehlo.multiply %279, %287 : tensor<16x64x32xf32>
    %289 = stablehlo.reduce(%286 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %290 = stablehlo.multiply %241, %288 : tensor<16x64x32xf32>
    %291 = stablehlo.reduce(%290 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %292 = stablehlo.reshape %291 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %293 = stablehlo.broadcast_in_dim %249, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %294 = stablehlo.multiply %288, %293 : tensor<16x64x32xf32>
    %295 = stablehlo.multiply %292, %252 : tensor<16x64x1xf32>
    %296 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %297 = stablehlo.divide %295, %296 : tensor<16x64x1xf32>
    %298 = stablehlo.reduce(%297 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %299 = stablehlo.broadcast_in_dim %298, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %300 = stablehlo.multiply %241, %299 : tensor<16x64x32xf32>
    %301 = stablehlo.add %294, %300 : tensor<16x64x32xf32>
    %302 = stablehlo.multiply %299, %241 : tensor<16x64x32xf32>
    %303 = stablehlo.add %301, %302 : tensor<16x64x32xf32>
    %304 = stablehlo.negate %303 : tensor<16x64x32xf32>
    %305 = stablehlo.reduce(%304 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %306 = stablehlo.reshape %305 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %307 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %308 = stablehlo.divide %306, %307 : tensor<16x64x1xf32>
    %309 = stablehlo.reduce(%308 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %310 = stablehlo.broadcast_in_dim %309, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %311 = stablehlo.add %303, %310 : tensor<16x64x32xf32>
    %312 = stablehlo.reduce(%311 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %313 = stablehlo.reshape %312 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %314 = stablehlo.reduce(%313 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %315 = stablehlo.dot_general %311, %230, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x32xf32>, tensor<16x64x128xf32>) -> tensor<32x128xf32>
    %316 = stablehlo.transpose %315, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %317 = stablehlo.dot_general %311, %arg12, contracting_dims = [2] x [1] : (tensor<16x64x32xf32>, tensor<128x32xf32>) -> tensor<16x64x128xf32>
    %318 = stablehlo.multiply %212, %317 : tensor<16x64x128xf32>
    %319 = stablehlo.multiply %317, %229 : tensor<16x64x128xf32>
    %320 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %321 = stablehlo.multiply %320, %318 : tensor<16x64x128xf32>
    %322 = stablehlo.multiply %321, %225 : tensor<16x64x128xf32>
    %323 = stablehlo.multiply %322, %223 : tensor<16x64x128xf32>
    %324 = stablehlo.add %322, %323 : tensor<16x64x128xf32>
    %325 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %326 = stablehlo.multiply %325, %324 : tensor<16x64x128xf32>
    %327 = stablehlo.add %319, %326 : tensor<16x64x128xf32>
    %328 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %329 = stablehlo.multiply %328, %326 : tensor<16x64x128xf32>
    %330 = stablehlo.multiply %329, %217 : tensor<16x64x128xf32>
    %331 = stablehlo.add %327, %330 : tensor<16x64x128xf32>
    %332 = stablehlo.reduce(%331 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<128xf32>
    %333 = stablehlo.reshape %332 : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %334 = stablehlo.reduce(%333 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %335 = stablehlo.dot_general %331, %208, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x128xf32>, tensor<16x64x32xf32>) -> tensor<128x32xf32>
    %336 = stablehlo.transpose %335, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %337 = stablehlo.dot_general %331, %arg20, contracting_dims = [2] x [1] : (tensor<16x64x128xf32>, tensor<32x128xf32>) -> tensor<16x64x32xf32>
    %338 = stablehlo.reduce(%337 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %339 = stablehlo.reshape %338 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %340 = stablehlo.reduce(%339 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %341 = stablehlo.multiply %202, %337 : tensor<16x64x32xf32>
    %342 = stablehlo.reduce(%341 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %343 = stablehlo.reshape %342 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %344 = stablehlo.broadcast_in_dim %203, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %345 = stablehlo.multiply %337, %344 : tensor<16x64x32xf32>
    %346 = stablehlo.reduce(%343 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %347 = stablehlo.multiply %189, %345 : tensor<16x64x32xf32>
    %348 = stablehlo.reduce(%347 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %349 = stablehlo.reshape %348 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %350 = stablehlo.broadcast_in_dim %197, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %351 = stablehlo.multiply %345, %350 : tensor<16x64x32xf32>
    %352 = stablehlo.multiply %349, %200 : tensor<16x64x1xf32>
    %353 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %354 = stablehlo.divide %352, %353 : tensor<16x64x1xf32>
    %355 = stablehlo.reduce(%354 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %356 = stablehlo.broadcast_in_dim %355, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %357 = stablehlo.multiply %189, %356 : tensor<16x64x32xf32>
    %358 = stablehlo.add %351, %357 : tensor<16x64x32xf32>
    %359 = stablehlo.multiply %356, %189 : tensor<16x64x32xf32>
    %360 = stablehlo.add %358, %359 : tensor<16x64x32xf32>
    %361 = stablehlo.negate %360 : tensor<16x64x32xf32>
    %362 = stablehlo.reduce(%361 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %363 = stablehlo.reshape %362 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %364 = stablehlo.add %311, %360 : tensor<16x64x32xf32>
    %365 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %366 = stablehlo.divide %363, %365 : tensor<16x64x1xf32>
    %367 = stablehlo.reduce(%366 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %368 = stablehlo.broadcast_in_dim %367, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %369 = stablehlo.add %364, %368 : tensor<16x64x32xf32>
    %370 = stablehlo.dot_general %369, %181, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<32x32xf32>
    %371 = stablehlo.transpose %370, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %372 = stablehlo.dot_general %369, %arg17, contracting_dims = [2] x [1] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %373 = stablehlo.reshape %372 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %374 = stablehlo.transpose %373, dims = [0, 2, 3, 1] : (tensor<16x64x4x8xf32>) -> tensor<16x4x8x64xf32>
    %375 = stablehlo.dot_general %374, %155, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3] : (tensor<16x4x8x64xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %376 = stablehlo.dot_general %374, %175, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<16x4x8x64xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %377 = stablehlo.transpose %376, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %378 = stablehlo.broadcast_in_dim %178, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %379 = stablehlo.multiply %375, %378 : tensor<16x4x64x64xf32>
    %380 = stablehlo.multiply %379, %171 : tensor<16x4x64x64xf32>
    %381 = stablehlo.reduce(%380 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %382 = stablehlo.reshape %381 : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %383 = stablehlo.negate %382 : tensor<16x4x64x1xf32>
    %384 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %385 = stablehlo.divide %375, %384 : tensor<16x4x64x64xf32>
    %386 = stablehlo.reduce(%383 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x1xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %387 = stablehlo.broadcast_in_dim %386, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x64xf32>
    %388 = stablehlo.add %385, %387 : tensor<16x4x64x64xf32>
    %389 = stablehlo.multiply %388, %171 : tensor<16x4x64x64xf32>
    %390 = call @_where_1(%164#1, %164#2, %389) : (tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x64x64xf32>
    %391 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %392 = stablehlo.divide %390, %391 : tensor<16x4x64x64xf32>
    %393 = stablehlo.dot_general %392, %153, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<16x4x64x64xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x8xf32>
    %394 = stablehlo.transpose %393, dims = [0, 2, 1, 3] : (tensor<16x4x64x8xf32>) -> tensor<16x64x4x8xf32>
    %395 = stablehlo.dot_general %392, %154, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<16x4x64x64xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x8xf32>
    %396 = stablehlo.transpose %395, dims = [0, 2, 1, 3] : (tensor<16x4x64x8xf32>) -> tensor<16x64x4x8xf32>
    %397 = stablehlo.reshape %377 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %398 = stablehlo.reshape %394 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %399 = stablehlo.reshape %396 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %400 = stablehlo.concatenate %399, %398, %397, dim = 2 : (tensor<16x64x32xf32>, tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x96xf32>
    %401 = stablehlo.dot_general %400, %148, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x96xf32>, tensor<16x64x32xf32>) -> tensor<96x32xf32>
    %402 = stablehlo.transpose %401, dims = [1, 0] : (tensor<96x32xf32>) -> tensor<32x96xf32>
    %403 = stablehlo.dot_general %400, %arg18, contracting_dims = [2] x [1] : (tensor<16x64x96xf32>, tensor<32x96xf32>) -> tensor<16x64x32xf32>
    %404 = stablehlo.reduce(%403 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %405 = stablehlo.reshape %404 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %406 = stablehlo.reduce(%405 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %407 = stablehlo.multiply %142, %403 : tensor<16x64x32xf32>
    %408 = stablehlo.reduce(%407 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %409 = stablehlo.reshape %408 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %410 = stablehlo.broadcast_in_dim %143, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %411 = stablehlo.multiply %403, %410 : tensor<16x64x32xf32>
    %412 = stablehlo.reduce(%409 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %413 = stablehlo.multiply %129, %411 : tensor<16x64x32xf32>
    %414 = stablehlo.reduce(%413 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %415 = stablehlo.reshape %414 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %416 = stablehlo.broadcast_in_dim %137, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %417 = stablehlo.multiply %411, %416 : tensor<16x64x32xf32>
    %418 = stablehlo.multiply %415, %140 : tensor<16x64x1xf32>
    %419 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %420 = stablehlo.divide %418, %419 : tensor<16x64x1xf32>
    %421 = stablehlo.reduce(%420 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %422 = stablehlo.broadcast_in_dim %421, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %423 = stablehlo.multiply %129, %422 : tensor<16x64x32xf32>
    %424 = stablehlo.add %417, %423 : tensor<16x64x32xf32>
    %425 = stablehlo.multiply %422, %129 : tensor<16x64x32xf32>
    %426 = stablehlo.add %424, %425 : tensor<16x64x32xf32>
    %427 = stablehlo.negate %426 : tensor<16x64x32xf32>
    %428 = stablehlo.reduce(%427 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %429 = stablehlo.reshape %428 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %430 = stablehlo.add %369, %426 : tensor<16x64x32xf32>
    %431 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %432 = stablehlo.divide %429, %431 : tensor<16x64x1xf32>
    %433 = stablehlo.reduce(%432 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %434 = stablehlo.broadcast_in_dim %433, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %435 = stablehlo.add %430, %434 : tensor<16x64x32xf32>
    %436 = stablehlo.reduce(%435 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %437 = stablehlo.reshape %436 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %438 = stablehlo.reduce(%437 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %439 = stablehlo.dot_general %435, %118, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x32xf32>, tensor<16x64x128xf32>) -> tensor<32x128xf32>
    %440 = stablehlo.transpose %439, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %441 = stablehlo.dot_general %435, %arg2, contracting_dims = [2] x [1] : (tensor<16x64x32xf32>, tensor<128x32xf32>) -> tensor<16x64x128xf32>
    %442 = stablehlo.multiply %100, %441 : tensor<16x64x128xf32>
    %443 = stablehlo.multiply %441, %117 : tensor<16x64x128xf32>
    %444 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %445 = stablehlo.multiply %444, %442 : tensor<16x64x128xf32>
    %446 = stablehlo.multiply %445, %113 : tensor<16x64x128xf32>
    %447 = stablehlo.multiply %446, %111 : tensor<16x64x128xf32>
    %448 = stablehlo.add %446, %447 : tensor<16x64x128xf32>
    %449 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %450 = stablehlo.multiply %449, %448 : tensor<16x64x128xf32>
    %451 = stablehlo.add %443, %450 : tensor<16x64x128xf32>
    %452 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64x128xf32>
    %453 = stablehlo.multiply %452, %450 : tensor<16x64x128xf32>
    %454 = stablehlo.multiply %453, %105 : tensor<16x64x128xf32>
    %455 = stablehlo.add %451, %454 : tensor<16x64x128xf32>
    %456 = stablehlo.reduce(%455 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<128xf32>
    %457 = stablehlo.reshape %456 : (tensor<128xf32>) -> tensor<1x1x128xf32>
    %458 = stablehlo.reduce(%457 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %459 = stablehlo.dot_general %455, %96, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x128xf32>, tensor<16x64x32xf32>) -> tensor<128x32xf32>
    %460 = stablehlo.transpose %459, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %461 = stablehlo.dot_general %455, %arg10, contracting_dims = [2] x [1] : (tensor<16x64x128xf32>, tensor<32x128xf32>) -> tensor<16x64x32xf32>
    %462 = stablehlo.reduce(%461 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %463 = stablehlo.reshape %462 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %464 = stablehlo.reduce(%463 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %465 = stablehlo.multiply %90, %461 : tensor<16x64x32xf32>
    %466 = stablehlo.reduce(%465 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %467 = stablehlo.reshape %466 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %468 = stablehlo.broadcast_in_dim %91, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %469 = stablehlo.multiply %461, %468 : tensor<16x64x32xf32>
    %470 = stablehlo.reduce(%467 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %471 = stablehlo.multiply %77, %469 : tensor<16x64x32xf32>
    %472 = stablehlo.reduce(%471 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %473 = stablehlo.reshape %472 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %474 = stablehlo.broadcast_in_dim %85, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %475 = stablehlo.multiply %469, %474 : tensor<16x64x32xf32>
    %476 = stablehlo.multiply %473, %88 : tensor<16x64x1xf32>
    %477 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %478 = stablehlo.divide %476, %477 : tensor<16x64x1xf32>
    %479 = stablehlo.reduce(%478 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %480 = stablehlo.broadcast_in_dim %479, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %481 = stablehlo.multiply %77, %480 : tensor<16x64x32xf32>
    %482 = stablehlo.add %475, %481 : tensor<16x64x32xf32>
    %483 = stablehlo.multiply %480, %77 : tensor<16x64x32xf32>
    %484 = stablehlo.add %482, %483 : tensor<16x64x32xf32>
    %485 = stablehlo.negate %484 : tensor<16x64x32xf32>
    %486 = stablehlo.reduce(%485 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %487 = stablehlo.reshape %486 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %488 = stablehlo.add %435, %484 : tensor<16x64x32xf32>
    %489 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %490 = stablehlo.divide %487, %489 : tensor<16x64x1xf32>
    %491 = stablehlo.reduce(%490 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %492 = stablehlo.broadcast_in_dim %491, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %493 = stablehlo.add %488, %492 : tensor<16x64x32xf32>
    %494 = stablehlo.dot_general %493, %69, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<32x32xf32>
    %495 = stablehlo.transpose %494, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %496 = stablehlo.dot_general %493, %arg7, contracting_dims = [2] x [1] : (tensor<16x64x32xf32>, tensor<32x32xf32>) -> tensor<16x64x32xf32>
    %497 = stablehlo.reshape %496 : (tensor<16x64x32xf32>) -> tensor<16x64x4x8xf32>
    %498 = stablehlo.transpose %497, dims = [0, 2, 3, 1] : (tensor<16x64x4x8xf32>) -> tensor<16x4x8x64xf32>
    %499 = stablehlo.dot_general %498, %43, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3] : (tensor<16x4x8x64xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x64xf32>
    %500 = stablehlo.dot_general %498, %63, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<16x4x8x64xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x8x64xf32>
    %501 = stablehlo.transpose %500, dims = [0, 3, 1, 2] : (tensor<16x4x8x64xf32>) -> tensor<16x64x4x8xf32>
    %502 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %503 = stablehlo.multiply %499, %502 : tensor<16x4x64x64xf32>
    %504 = stablehlo.multiply %503, %59 : tensor<16x4x64x64xf32>
    %505 = stablehlo.reduce(%504 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x64xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %506 = stablehlo.reshape %505 : (tensor<16x4x64xf32>) -> tensor<16x4x64x1xf32>
    %507 = stablehlo.negate %506 : tensor<16x4x64x1xf32>
    %508 = stablehlo.broadcast_in_dim %61, dims = [0, 1, 2, 3] : (tensor<16x4x64x1xf32>) -> tensor<16x4x64x64xf32>
    %509 = stablehlo.divide %499, %508 : tensor<16x4x64x64xf32>
    %510 = stablehlo.reduce(%507 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<16x4x64x1xf32>, tensor<f32>) -> tensor<16x4x64xf32>
    %511 = stablehlo.broadcast_in_dim %510, dims = [0, 1, 2] : (tensor<16x4x64xf32>) -> tensor<16x4x64x64xf32>
    %512 = stablehlo.add %509, %511 : tensor<16x4x64x64xf32>
    %513 = stablehlo.multiply %512, %59 : tensor<16x4x64x64xf32>
    %514 = call @_where_1(%52#1, %52#2, %513) : (tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>, tensor<16x4x64x64xf32>) -> tensor<16x4x64x64xf32>
    %515 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %516 = stablehlo.divide %514, %515 : tensor<16x4x64x64xf32>
    %517 = stablehlo.dot_general %516, %41, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<16x4x64x64xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x8xf32>
    %518 = stablehlo.transpose %517, dims = [0, 2, 1, 3] : (tensor<16x4x64x8xf32>) -> tensor<16x64x4x8xf32>
    %519 = stablehlo.dot_general %516, %42, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<16x4x64x64xf32>, tensor<16x64x4x8xf32>) -> tensor<16x4x64x8xf32>
    %520 = stablehlo.transpose %519, dims = [0, 2, 1, 3] : (tensor<16x4x64x8xf32>) -> tensor<16x64x4x8xf32>
    %521 = stablehlo.reshape %501 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %522 = stablehlo.reshape %518 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %523 = stablehlo.reshape %520 : (tensor<16x64x4x8xf32>) -> tensor<16x64x32xf32>
    %524 = stablehlo.concatenate %523, %522, %521, dim = 2 : (tensor<16x64x32xf32>, tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x96xf32>
    %525 = stablehlo.dot_general %524, %36, contracting_dims = [0, 1] x [0, 1] : (tensor<16x64x96xf32>, tensor<16x64x32xf32>) -> tensor<96x32xf32>
    %526 = stablehlo.transpose %525, dims = [1, 0] : (tensor<96x32xf32>) -> tensor<32x96xf32>
    %527 = stablehlo.dot_general %524, %arg8, contracting_dims = [2] x [1] : (tensor<16x64x96xf32>, tensor<32x96xf32>) -> tensor<16x64x32xf32>
    %528 = stablehlo.reduce(%527 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %529 = stablehlo.reshape %528 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %530 = stablehlo.reduce(%529 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %531 = stablehlo.multiply %30, %527 : tensor<16x64x32xf32>
    %532 = stablehlo.reduce(%531 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %533 = stablehlo.reshape %532 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %534 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<16x64x32xf32>
    %535 = stablehlo.multiply %527, %534 : tensor<16x64x32xf32>
    %536 = stablehlo.reduce(%533 init: %cst_11) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %537 = stablehlo.multiply %17, %535 : tensor<16x64x32xf32>
    %538 = stablehlo.reduce(%537 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %539 = stablehlo.reshape %538 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %540 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x32xf32>
    %541 = stablehlo.multiply %535, %540 : tensor<16x64x32xf32>
    %542 = stablehlo.multiply %539, %28 : tensor<16x64x1xf32>
    %543 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %544 = stablehlo.divide %542, %543 : tensor<16x64x1xf32>
    %545 = stablehlo.reduce(%544 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %546 = stablehlo.broadcast_in_dim %545, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %547 = stablehlo.multiply %17, %546 : tensor<16x64x32xf32>
    %548 = stablehlo.add %541, %547 : tensor<16x64x32xf32>
    %549 = stablehlo.multiply %546, %17 : tensor<16x64x32xf32>
    %550 = stablehlo.add %548, %549 : tensor<16x64x32xf32>
    %551 = stablehlo.negate %550 : tensor<16x64x32xf32>
    %552 = stablehlo.reduce(%551 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<16x64xf32>
    %553 = stablehlo.reshape %552 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %554 = stablehlo.add %493, %550 : tensor<16x64x32xf32>
    %555 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %556 = stablehlo.divide %553, %555 : tensor<16x64x1xf32>
    %557 = stablehlo.reduce(%556 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %558 = stablehlo.broadcast_in_dim %557, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x32xf32>
    %559 = stablehlo.add %554, %558 : tensor<16x64x32xf32>
    %560 = stablehlo.reduce(%559 init: %cst_11) applies stablehlo.add across dimensions = [0] : (tensor<16x64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
    %561 = stablehlo.reshape %560 : (tensor<64x32xf32>) -> tensor<1x64x32xf32>
    %562 = stablehlo.reduce(%561 init: %cst_11) applies stablehlo.add across dimensions = [0] : (tensor<1x64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
    %563 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %564 = "stablehlo.scatter"(%563, %7, %559) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
    ^bb0(%arg25: tensor<f32>, %arg26: tensor<f32>):
      %566 = stablehlo.add %arg25, %arg26 : tensor<f32>
      stablehlo.return %566 : tensor<f32>
    }) : (tensor<128x32xf32>, tensor<16x64x1xi32>, tensor<16x64x32xf32>) -> tensor<128x32xf32>
    %565 = stablehlo.add %280, %564 : tensor<128x32xf32>
    return %270, %565, %438, %440, %530, %536, %464, %470, %495, %526, %458, %460, %314, %316, %406, %412, %340, %346, %371, %402, %334, %336, %283, %289, %562 : tensor<f32>, tensor<128x32xf32>, tensor<32xf32>, tensor<128x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<128xf32>, tensor<32x128xf32>, tensor<32xf32>, tensor<128x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<128xf32>, tensor<32x128xf32>, tensor<32xf32>, tensor<32xf32>, tensor<64x32xf32>
  }
  func.func private @_where(%arg0: tensor<64x64xi1>, %arg1: tensor<16x4x64x64xf32>, %arg2: tensor<f32>) -> (tensor<16x4x64x64xf32>, tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<64x64xi1>) -> tensor<16x4x64x64xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    return %3, %1, %4 : tensor<16x4x64x64xf32>, tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>
  }
  func.func private @log_softmax(%arg0: tensor<16x64x128xf32>) -> (tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x1xf32>) {
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
    return %11, %6, %8 : tensor<16x64x128xf32>, tensor<16x64x128xf32>, tensor<16x64x1xf32>
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
  func.func private @log_softmax_0(%arg0: tensor<16x64x128xf32>, %arg1: tensor<16x64x1xf32>, %arg2: tensor<16x64x128xf32>) -> tensor<16x64x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.negate %arg2 : tensor<16x64x128xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x64x128xf32>, tensor<f32>) -> tensor<16x64xf32>
    %2 = stablehlo.reshape %1 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<16x64x1xf32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x128xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<16x64x128xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<16x64x128xf32>
    return %7 : tensor<16x64x128xf32>
  }
  func.func private @_where_1(%arg0: tensor<16x4x64x64xi1>, %arg1: tensor<16x4x64x64xf32>, %arg2: tensor<16x4x64x64xf32>) -> tensor<16x4x64x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x4x64x64xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<16x4x64x64xi1>, tensor<16x4x64x64xf32>
    return %1 : tensor<16x4x64x64xf32>
  }
}
