module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x4xf32> {jax.result_info = "result[0]"}, tensor<2x4x4xf32> {jax.result_info = "result[1]"}, tensor<0x4x4xf32> {jax.result_info = "result[2]"}, tensor<2x4x4xf32> {jax.result_info = "result[3]"}, tensor<2x4x4xf32> {jax.result_info = "result[4]"}, tensor<2x4x4xf32> {jax.result_info = "result[5]"}, tensor<2x4x4xf32> {jax.result_info = "result[6]"}, tensor<2x4x4xf32> {jax.result_info = "result[7]"}, tensor<2x4x4xf32> {jax.result_info = "result[8]"}, tensor<2x4x4xf64> {jax.result_info = "result[9]"}, tensor<2x4x4xf64> {jax.result_info = "result[10]"}, tensor<2x4x4xf64> {jax.result_info = "result[11]"}, tensor<2x4x4xf64> {jax.result_info = "result[12]"}, tensor<2x4x4xf64> {jax.result_info = "result[13]"}, tensor<2x4x4xf64> {jax.result_info = "result[14]"}, tensor<2x4x4xf64> {jax.result_info = "result[15]"}, tensor<0x4x4xf64> {jax.result_info = "result[16]"}, tensor<0x4x4xf64> {jax.result_info = "result[17]"}) {
    %cst = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_7 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_8 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_9 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_10 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %5 = stablehlo.add %2, %4 : tensor<4x4xi64>
    %6 = stablehlo.compare EQ, %5, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %7 = stablehlo.convert %6 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %8 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<4x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %12 = stablehlo.add %1, %11 : tensor<2x4x4xf32>
    %13 = call @cholesky(%12) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %14 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %15 = stablehlo.dot_general %arg0, %14, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %16 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %17 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %18 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %19 = stablehlo.add %16, %18 : tensor<4x4xi64>
    %20 = stablehlo.compare EQ, %19, %17, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %21 = stablehlo.convert %20 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %22 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %23 = stablehlo.multiply %22, %21 : tensor<4x4xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %26 = stablehlo.add %15, %25 : tensor<2x4x4xf32>
    %27 = call @cholesky_0(%26) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %28 = stablehlo.slice %arg0 [0:0, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<0x4x4xf32>
    %29 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %30 = stablehlo.transpose %29, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %31 = stablehlo.real %30 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %32 = stablehlo.imag %30 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %33 = stablehlo.negate %32 : tensor<2x4x4xf32>
    %34 = stablehlo.complex %31, %33 : tensor<2x4x4xcomplex<f32>>
    %35 = stablehlo.dot_general %29, %34, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %36 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %37 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %38 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %39 = stablehlo.add %36, %38 : tensor<4x4xi64>
    %40 = stablehlo.compare EQ, %39, %37, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %41 = stablehlo.convert %40 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %42 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %43 = stablehlo.multiply %42, %41 : tensor<4x4xcomplex<f32>>
    %44 = stablehlo.broadcast_in_dim %43, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %46 = stablehlo.add %35, %45 : tensor<2x4x4xcomplex<f32>>
    %47 = call @cholesky_1(%46) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %48 = stablehlo.transpose %29, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %49 = stablehlo.real %48 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %50 = stablehlo.imag %48 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %51 = stablehlo.negate %50 : tensor<2x4x4xf32>
    %52 = stablehlo.complex %49, %51 : tensor<2x4x4xcomplex<f32>>
    %53 = stablehlo.dot_general %29, %52, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %54 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %55 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %56 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %57 = stablehlo.add %54, %56 : tensor<4x4xi64>
    %58 = stablehlo.compare EQ, %57, %55, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %59 = stablehlo.convert %58 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %60 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %61 = stablehlo.multiply %60, %59 : tensor<4x4xcomplex<f32>>
    %62 = stablehlo.broadcast_in_dim %61, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %64 = stablehlo.add %53, %63 : tensor<2x4x4xcomplex<f32>>
    %65 = call @cholesky_2(%64) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %66 = stablehlo.transpose %29, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %67 = stablehlo.real %66 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %68 = stablehlo.imag %66 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %69 = stablehlo.negate %68 : tensor<2x4x4xf32>
    %70 = stablehlo.complex %67, %69 : tensor<2x4x4xcomplex<f32>>
    %71 = stablehlo.dot_general %29, %70, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %72 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %73 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %74 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %75 = stablehlo.add %72, %74 : tensor<4x4xi64>
    %76 = stablehlo.compare EQ, %75, %73, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %77 = stablehlo.convert %76 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %78 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %79 = stablehlo.multiply %78, %77 : tensor<4x4xcomplex<f32>>
    %80 = stablehlo.broadcast_in_dim %79, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %81 = stablehlo.broadcast_in_dim %80, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %82 = stablehlo.add %71, %81 : tensor<2x4x4xcomplex<f32>>
    %83:7 = call @cholesky_3(%82) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>)
    %84 = stablehlo.abs %83#0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %85 = stablehlo.real %83#0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %86 = stablehlo.imag %83#0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %87 = stablehlo.negate %86 : tensor<2x4x4xf32>
    %88 = stablehlo.complex %85, %87 : tensor<2x4x4xcomplex<f32>>
    %89 = stablehlo.convert %84 : (tensor<2x4x4xf32>) -> tensor<2x4x4xcomplex<f32>>
    %90 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %91 = stablehlo.compare EQ, %89, %90, FLOAT : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xi1>
    %92 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %93 = stablehlo.select %91, %92, %89 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %94 = stablehlo.divide %88, %93 : tensor<2x4x4xcomplex<f32>>
    %95 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %96 = stablehlo.multiply %95, %84 : tensor<2x4x4xf32>
    %97 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %98 = stablehlo.multiply %97, %96 : tensor<2x4x4xf32>
    %99 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %100 = stablehlo.complex %98, %99 : tensor<2x4x4xcomplex<f32>>
    %101 = stablehlo.multiply %100, %94 : tensor<2x4x4xcomplex<f32>>
    %102 = call @cholesky_4(%83#1, %83#2, %83#3, %83#4, %83#5, %83#6, %101) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %103 = stablehlo.dot_general %102, %29, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %104 = stablehlo.transpose %103, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %105 = stablehlo.dot_general %102, %70, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %106 = stablehlo.real %104 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %107 = stablehlo.imag %104 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %108 = stablehlo.negate %107 : tensor<2x4x4xf32>
    %109 = stablehlo.complex %106, %108 : tensor<2x4x4xcomplex<f32>>
    %110 = stablehlo.transpose %109, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %111 = stablehlo.add %105, %110 : tensor<2x4x4xcomplex<f32>>
    %112 = stablehlo.real %47 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %113 = stablehlo.imag %47 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %114 = stablehlo.real %65 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %115 = stablehlo.imag %65 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %116 = stablehlo.real %111 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %117 = stablehlo.imag %111 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %118 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %119 = stablehlo.dot_general %arg4, %118, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %120 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %121 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %122 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %123 = stablehlo.add %120, %122 : tensor<4x4xi64>
    %124 = stablehlo.compare EQ, %123, %121, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %125 = stablehlo.convert %124 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %126 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %127 = stablehlo.multiply %126, %125 : tensor<4x4xf64>
    %128 = stablehlo.broadcast_in_dim %127, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %129 = stablehlo.broadcast_in_dim %128, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %130 = stablehlo.add %119, %129 : tensor<2x4x4xf64>
    %131 = call @cholesky_5(%130) : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %132 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %133 = stablehlo.dot_general %arg4, %132, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %134 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %135 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %136 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %137 = stablehlo.add %134, %136 : tensor<4x4xi64>
    %138 = stablehlo.compare EQ, %137, %135, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %139 = stablehlo.convert %138 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %140 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %141 = stablehlo.multiply %140, %139 : tensor<4x4xf64>
    %142 = stablehlo.broadcast_in_dim %141, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %143 = stablehlo.broadcast_in_dim %142, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %144 = stablehlo.add %133, %143 : tensor<2x4x4xf64>
    %145 = call @cholesky_6(%144) : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %146 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %147 = stablehlo.dot_general %arg4, %146, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %148 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %149 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %150 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %151 = stablehlo.add %148, %150 : tensor<4x4xi64>
    %152 = stablehlo.compare EQ, %151, %149, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %153 = stablehlo.convert %152 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %154 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %155 = stablehlo.multiply %154, %153 : tensor<4x4xf64>
    %156 = stablehlo.broadcast_in_dim %155, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %157 = stablehlo.broadcast_in_dim %156, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %158 = stablehlo.add %147, %157 : tensor<2x4x4xf64>
    %159:7 = call @cholesky_7(%158) : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>)
    %160 = stablehlo.abs %159#0 : tensor<2x4x4xf64>
    %161 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %162 = stablehlo.compare GE, %159#0, %161, FLOAT : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xi1>
    %163 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %164 = stablehlo.multiply %163, %160 : tensor<2x4x4xf64>
    %165 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %166 = stablehlo.multiply %165, %164 : tensor<2x4x4xf64>
    %167 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %168 = stablehlo.select %162, %167, %166 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %169 = stablehlo.select %162, %166, %167 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %170 = stablehlo.negate %168 : tensor<2x4x4xf64>
    %171 = stablehlo.add %169, %170 : tensor<2x4x4xf64>
    %172 = call @cholesky_8(%159#1, %159#2, %159#3, %159#4, %159#5, %159#6, %171) : (tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %173 = stablehlo.dot_general %172, %arg4, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %174 = stablehlo.transpose %173, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %175 = stablehlo.dot_general %172, %146, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %176 = stablehlo.transpose %174, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %177 = stablehlo.add %175, %176 : tensor<2x4x4xf64>
    %178 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %179 = stablehlo.transpose %178, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %180 = stablehlo.real %179 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %181 = stablehlo.imag %179 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %182 = stablehlo.negate %181 : tensor<2x4x4xf64>
    %183 = stablehlo.complex %180, %182 : tensor<2x4x4xcomplex<f64>>
    %184 = stablehlo.dot_general %178, %183, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %185 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %186 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %187 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %188 = stablehlo.add %185, %187 : tensor<4x4xi64>
    %189 = stablehlo.compare EQ, %188, %186, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %190 = stablehlo.convert %189 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %191 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %192 = stablehlo.multiply %191, %190 : tensor<4x4xcomplex<f64>>
    %193 = stablehlo.broadcast_in_dim %192, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %194 = stablehlo.broadcast_in_dim %193, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %195 = stablehlo.add %184, %194 : tensor<2x4x4xcomplex<f64>>
    %196 = call @cholesky_9(%195) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %197 = stablehlo.transpose %178, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %198 = stablehlo.real %197 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %199 = stablehlo.imag %197 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %200 = stablehlo.negate %199 : tensor<2x4x4xf64>
    %201 = stablehlo.complex %198, %200 : tensor<2x4x4xcomplex<f64>>
    %202 = stablehlo.dot_general %178, %201, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %203 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %204 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %205 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %206 = stablehlo.add %203, %205 : tensor<4x4xi64>
    %207 = stablehlo.compare EQ, %206, %204, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %208 = stablehlo.convert %207 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %209 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %210 = stablehlo.multiply %209, %208 : tensor<4x4xcomplex<f64>>
    %211 = stablehlo.broadcast_in_dim %210, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %212 = stablehlo.broadcast_in_dim %211, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %213 = stablehlo.add %202, %212 : tensor<2x4x4xcomplex<f64>>
    %214 = call @cholesky_10(%213) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %215 = stablehlo.slice %178 [0:0, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<0x4x4xcomplex<f64>>
    %216 = stablehlo.real %196 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %217 = stablehlo.imag %196 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %218 = stablehlo.real %214 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %219 = stablehlo.imag %214 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %220 = stablehlo.real %215 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %221 = stablehlo.imag %215 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    return %13, %27, %28, %112, %113, %114, %115, %116, %117, %131, %145, %177, %216, %217, %218, %219, %220, %221 : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<0x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<0x4x4xf64>, tensor<0x4x4xf64>
  }
  func.func private @cholesky(%arg0: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf32>
    %4:2 = stablehlo.custom_call @lapack_spotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %11 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %13 = stablehlo.add %11, %12 : tensor<4x4xi64>
    %14 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %18 = stablehlo.select %16, %10, %17 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    return %18 : tensor<2x4x4xf32>
  }
  func.func private @cholesky_0(%arg0: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf32>
    %4:2 = stablehlo.custom_call @lapack_spotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %11 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %13 = stablehlo.add %11, %12 : tensor<4x4xi64>
    %14 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %18 = stablehlo.select %16, %10, %17 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %19 = stablehlo.transpose %18, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    return %19 : tensor<2x4x4xf32>
  }
  func.func private @cholesky_1(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf32>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f32>>
    %8:2 = stablehlo.custom_call @lapack_cpotrf_ffi(%7) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#1, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %17 = stablehlo.add %15, %16 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.compare GE, %17, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %22 = stablehlo.select %20, %14, %21 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    return %22 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @cholesky_2(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf32>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f32>>
    %8:2 = stablehlo.custom_call @lapack_cpotrf_ffi(%7) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#1, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %17 = stablehlo.add %15, %16 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.compare GE, %17, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %22 = stablehlo.select %20, %14, %21 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %23 = stablehlo.transpose %22, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %24 = stablehlo.real %23 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %25 = stablehlo.imag %23 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %26 = stablehlo.negate %25 : tensor<2x4x4xf32>
    %27 = stablehlo.complex %24, %26 : tensor<2x4x4xcomplex<f32>>
    return %27 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @cholesky_3(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>) {
    %cst = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_1 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %cst_3 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf32>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f32>>
    %8:2 = stablehlo.custom_call @lapack_cpotrf_ffi(%7) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#1, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %17 = stablehlo.add %15, %16 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.compare GE, %17, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %21 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %22 = stablehlo.select %20, %14, %21 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %23 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %24 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %25 = stablehlo.add %23, %24 : tensor<4x4xi64>
    %26 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %27 = stablehlo.compare GE, %25, %26, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %28 = stablehlo.broadcast_in_dim %27, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %29 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %30 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %31 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %32 = stablehlo.add %30, %31 : tensor<4x4xi32>
    %33 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %34 = stablehlo.compare EQ, %32, %33, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %35 = stablehlo.convert %34 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %36 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %37 = stablehlo.add %36, %35 : tensor<4x4xcomplex<f32>>
    %38 = stablehlo.broadcast_in_dim %37, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %39 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %40 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %41 = stablehlo.add %39, %40 : tensor<4x4xi64>
    %42 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %43 = stablehlo.compare GE, %41, %42, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %44 = stablehlo.broadcast_in_dim %43, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %45 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %46 = stablehlo.select %44, %22, %45 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %47 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %46, %22, %28, %29, %38, %44, %47 : tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
  }
  func.func private @cholesky_4(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xi1>, %arg2: tensor<2x4x4xcomplex<f32>>, %arg3: tensor<1x4x4xcomplex<f32>>, %arg4: tensor<2x4x4xi1>, %arg5: tensor<2x4x4xcomplex<f32>>, %arg6: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.select %arg4, %arg6, %0 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %2 = stablehlo.dot_general %1, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %4 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.divide %3, %4 : tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.select %arg1, %5, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %8 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %7) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.real %arg0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %10 = stablehlo.imag %arg0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %11 = stablehlo.negate %10 : tensor<2x4x4xf32>
    %12 = stablehlo.complex %9, %11 : tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.custom_call @lapack_ctrsm_ffi(%12, %8) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.divide %13, %14 : tensor<2x4x4xcomplex<f32>>
    %16 = stablehlo.real %15 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %17 = stablehlo.imag %15 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %18 = stablehlo.negate %17 : tensor<2x4x4xf32>
    %19 = stablehlo.complex %16, %18 : tensor<2x4x4xcomplex<f32>>
    %20 = stablehlo.transpose %19, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %21 = stablehlo.add %15, %20 : tensor<2x4x4xcomplex<f32>>
    return %21 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @cholesky_5(%arg0: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf64>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf64>
    %4:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %11 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %13 = stablehlo.add %11, %12 : tensor<4x4xi64>
    %14 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %18 = stablehlo.select %16, %10, %17 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    return %18 : tensor<2x4x4xf64>
  }
  func.func private @cholesky_6(%arg0: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf64>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf64>
    %4:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %11 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %13 = stablehlo.add %11, %12 : tensor<4x4xi64>
    %14 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %18 = stablehlo.select %16, %10, %17 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %19 = stablehlo.transpose %18, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %19 : tensor<2x4x4xf64>
  }
  func.func private @cholesky_7(%arg0: tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_1 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf64>
    %2 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf64>
    %4:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%3) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#1, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %11 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %13 = stablehlo.add %11, %12 : tensor<4x4xi64>
    %14 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %17 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %18 = stablehlo.select %16, %10, %17 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %19 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %20 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %21 = stablehlo.add %19, %20 : tensor<4x4xi64>
    %22 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %23 = stablehlo.compare GE, %21, %22, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %25 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %26 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %27 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %28 = stablehlo.add %26, %27 : tensor<4x4xi32>
    %29 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %30 = stablehlo.compare EQ, %28, %29, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %31 = stablehlo.convert %30 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %32 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %33 = stablehlo.add %32, %31 : tensor<4x4xf64>
    %34 = stablehlo.broadcast_in_dim %33, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %35 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %36 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %37 = stablehlo.add %35, %36 : tensor<4x4xi64>
    %38 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %39 = stablehlo.compare GE, %37, %38, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %40 = stablehlo.broadcast_in_dim %39, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %41 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %42 = stablehlo.select %40, %18, %41 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %43 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    return %42, %18, %24, %25, %34, %40, %43 : tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>
  }
  func.func private @cholesky_8(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xi1>, %arg2: tensor<2x4x4xf64>, %arg3: tensor<1x4x4xf64>, %arg4: tensor<2x4x4xi1>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.select %arg4, %arg6, %0 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %2 = stablehlo.dot_general %1, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %4 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %5 = stablehlo.divide %3, %4 : tensor<2x4x4xf64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.select %arg1, %5, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %8 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %7) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %8) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %11 = stablehlo.divide %9, %10 : tensor<2x4x4xf64>
    %12 = stablehlo.transpose %11, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %13 = stablehlo.add %11, %12 : tensor<2x4x4xf64>
    return %13 : tensor<2x4x4xf64>
  }
  func.func private @cholesky_9(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf64>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f64>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f64>>
    %8:2 = stablehlo.custom_call @lapack_zpotrf_ffi(%7) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#1, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %15 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %17 = stablehlo.add %15, %16 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.compare GE, %17, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %22 = stablehlo.select %20, %14, %21 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    return %22 : tensor<2x4x4xcomplex<f64>>
  }
  func.func private @cholesky_10(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf64>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f64>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f64>>
    %8:2 = stablehlo.custom_call @lapack_zpotrf_ffi(%7) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#1, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %15 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %17 = stablehlo.add %15, %16 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.compare GE, %17, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %22 = stablehlo.select %20, %14, %21 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %23 = stablehlo.transpose %22, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %24 = stablehlo.real %23 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %25 = stablehlo.imag %23 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %26 = stablehlo.negate %25 : tensor<2x4x4xf64>
    %27 = stablehlo.complex %24, %26 : tensor<2x4x4xcomplex<f64>>
    return %27 : tensor<2x4x4xcomplex<f64>>
  }
}
