module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x4xf32> {jax.result_info = "result[0]"}, tensor<2xf32> {jax.result_info = "result[1]"}, tensor<2x4xf32> {jax.result_info = "result[2]"}, tensor<2x4xf32> {jax.result_info = "result[3]"}, tensor<2x4x4xf32> {jax.result_info = "result[4]"}, tensor<2x4x4xf32> {jax.result_info = "result[5]"}, tensor<2xf32> {jax.result_info = "result[6]"}, tensor<2x4xf32> {jax.result_info = "result[7]"}, tensor<2x4xf32> {jax.result_info = "result[8]"}, tensor<2x4x4xf64> {jax.result_info = "result[9]"}, tensor<2xf64> {jax.result_info = "result[10]"}, tensor<2x4xf64> {jax.result_info = "result[11]"}, tensor<2x4xf64> {jax.result_info = "result[12]"}, tensor<2x4x4xf64> {jax.result_info = "result[13]"}, tensor<2x4x4xf64> {jax.result_info = "result[14]"}, tensor<2xf64> {jax.result_info = "result[15]"}, tensor<2x4xf64> {jax.result_info = "result[16]"}, tensor<2x4xf64> {jax.result_info = "result[17]"}) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<(0x7FF8000000000000,0.000000e+00)> : tensor<complex<f64>>
    %cst_1 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_5 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_6 = stablehlo.constant dense<(0x7FC00000,0.000000e+00)> : tensor<complex<f32>>
    %cst_7 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_10 = stablehlo.constant dense<1> : tensor<i32>
    %cst_11 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %c_12 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %5 = stablehlo.add %2, %4 : tensor<4x4xi64>
    %6 = stablehlo.compare EQ, %5, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %7 = stablehlo.convert %6 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %8 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<4x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %12 = stablehlo.add %1, %11 : tensor<2x4x4xf32>
    %13 = stablehlo.slice %12 [0:1, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
    %14 = stablehlo.reshape %13 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %15 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %16 = stablehlo.dot_general %arg0, %15, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %17 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %20 = stablehlo.add %17, %19 : tensor<4x4xi64>
    %21 = stablehlo.compare EQ, %20, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %22 = stablehlo.convert %21 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %23 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %24 = stablehlo.multiply %23, %22 : tensor<4x4xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %27 = stablehlo.add %16, %26 : tensor<2x4x4xf32>
    %28 = stablehlo.slice %27 [0:1, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
    %29 = stablehlo.reshape %28 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %30 = stablehlo.negate %29 : tensor<4x4xf32>
    %31 = stablehlo.broadcast_in_dim %14, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %32 = stablehlo.broadcast_in_dim %30, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %33 = stablehlo.concatenate %31, %32, dim = 0 : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %34 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %35 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %36 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %37 = stablehlo.concatenate %34, %35, %36, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %38 = "stablehlo.scatter"(%arg0, %37, %cst_9) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      stablehlo.return %arg9 : tensor<f32>
    }) : (tensor<2x4x4xf32>, tensor<3xi32>, tensor<f32>) -> tensor<2x4x4xf32>
    %39 = call @cholesky(%33) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %40 = stablehlo.slice %arg0 [0:1, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
    %41 = stablehlo.reshape %40 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %42 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %43 = stablehlo.broadcast_in_dim %41, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %44 = stablehlo.broadcast_in_dim %42, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %45 = stablehlo.concatenate %43, %44, dim = 0 : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %46:2 = call @slogdet(%45) : (tensor<2x4x4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %47 = call @eigvals(%38) : (tensor<2x4x4xf32>) -> tensor<2x4xcomplex<f32>>
    %48 = stablehlo.abs %47 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %49 = call @sort(%48) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %50 = call @svd(%38) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
    %51 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %52 = stablehlo.transpose %51, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %53 = stablehlo.real %52 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %54 = stablehlo.imag %52 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %55 = stablehlo.negate %54 : tensor<2x4x4xf32>
    %56 = stablehlo.complex %53, %55 : tensor<2x4x4xcomplex<f32>>
    %57 = stablehlo.dot_general %51, %56, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %58 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %59 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %60 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %61 = stablehlo.add %58, %60 : tensor<4x4xi64>
    %62 = stablehlo.compare EQ, %61, %59, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %63 = stablehlo.convert %62 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %64 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %65 = stablehlo.multiply %64, %63 : tensor<4x4xcomplex<f32>>
    %66 = stablehlo.broadcast_in_dim %65, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %68 = stablehlo.add %57, %67 : tensor<2x4x4xcomplex<f32>>
    %69 = stablehlo.slice %68 [0:1, 0:4, 0:4] : (tensor<2x4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %70 = stablehlo.reshape %69 : (tensor<1x4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    %71 = stablehlo.transpose %51, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %72 = stablehlo.real %71 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %73 = stablehlo.imag %71 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %74 = stablehlo.negate %73 : tensor<2x4x4xf32>
    %75 = stablehlo.complex %72, %74 : tensor<2x4x4xcomplex<f32>>
    %76 = stablehlo.dot_general %51, %75, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %77 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %78 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %79 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %80 = stablehlo.add %77, %79 : tensor<4x4xi64>
    %81 = stablehlo.compare EQ, %80, %78, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %82 = stablehlo.convert %81 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %83 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %84 = stablehlo.multiply %83, %82 : tensor<4x4xcomplex<f32>>
    %85 = stablehlo.broadcast_in_dim %84, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %87 = stablehlo.add %76, %86 : tensor<2x4x4xcomplex<f32>>
    %88 = stablehlo.slice %87 [0:1, 0:4, 0:4] : (tensor<2x4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %89 = stablehlo.reshape %88 : (tensor<1x4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    %90 = stablehlo.negate %89 : tensor<4x4xcomplex<f32>>
    %91 = stablehlo.broadcast_in_dim %70, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %92 = stablehlo.broadcast_in_dim %90, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %93 = stablehlo.concatenate %91, %92, dim = 0 : (tensor<1x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %94 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %95 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %96 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %97 = stablehlo.concatenate %94, %95, %96, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %98 = "stablehlo.scatter"(%51, %97, %cst_6) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<complex<f32>>, %arg9: tensor<complex<f32>>):
      stablehlo.return %arg9 : tensor<complex<f32>>
    }) : (tensor<2x4x4xcomplex<f32>>, tensor<3xi32>, tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %99 = call @cholesky_1(%93) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %100 = stablehlo.slice %51 [0:1, 0:4, 0:4] : (tensor<2x4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %101 = stablehlo.reshape %100 : (tensor<1x4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
    %102 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %103 = stablehlo.broadcast_in_dim %101, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %104 = stablehlo.broadcast_in_dim %102, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %105 = stablehlo.concatenate %103, %104, dim = 0 : (tensor<1x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %106:2 = call @slogdet_2(%105) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>)
    %107 = call @eigvals_5(%98) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %108 = stablehlo.abs %107 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %109 = call @sort(%108) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %110 = call @svd_6(%98) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xf32>
    %111 = stablehlo.real %99 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %112 = stablehlo.imag %99 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %113 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %114 = stablehlo.dot_general %arg4, %113, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %115 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %116 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %117 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %118 = stablehlo.add %115, %117 : tensor<4x4xi64>
    %119 = stablehlo.compare EQ, %118, %116, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %120 = stablehlo.convert %119 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %121 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %122 = stablehlo.multiply %121, %120 : tensor<4x4xf64>
    %123 = stablehlo.broadcast_in_dim %122, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %125 = stablehlo.add %114, %124 : tensor<2x4x4xf64>
    %126 = stablehlo.slice %125 [0:1, 0:4, 0:4] : (tensor<2x4x4xf64>) -> tensor<1x4x4xf64>
    %127 = stablehlo.reshape %126 : (tensor<1x4x4xf64>) -> tensor<4x4xf64>
    %128 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %129 = stablehlo.dot_general %arg4, %128, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %130 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %131 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %132 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %133 = stablehlo.add %130, %132 : tensor<4x4xi64>
    %134 = stablehlo.compare EQ, %133, %131, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %135 = stablehlo.convert %134 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %136 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %137 = stablehlo.multiply %136, %135 : tensor<4x4xf64>
    %138 = stablehlo.broadcast_in_dim %137, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %139 = stablehlo.broadcast_in_dim %138, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %140 = stablehlo.add %129, %139 : tensor<2x4x4xf64>
    %141 = stablehlo.slice %140 [0:1, 0:4, 0:4] : (tensor<2x4x4xf64>) -> tensor<1x4x4xf64>
    %142 = stablehlo.reshape %141 : (tensor<1x4x4xf64>) -> tensor<4x4xf64>
    %143 = stablehlo.negate %142 : tensor<4x4xf64>
    %144 = stablehlo.broadcast_in_dim %127, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %145 = stablehlo.broadcast_in_dim %143, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %146 = stablehlo.concatenate %144, %145, dim = 0 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %147 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %148 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %149 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %150 = stablehlo.concatenate %147, %148, %149, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %151 = "stablehlo.scatter"(%arg4, %150, %cst_3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f64>, %arg9: tensor<f64>):
      stablehlo.return %arg9 : tensor<f64>
    }) : (tensor<2x4x4xf64>, tensor<3xi32>, tensor<f64>) -> tensor<2x4x4xf64>
    %152 = call @cholesky_7(%146) : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %153 = stablehlo.slice %arg4 [0:1, 0:4, 0:4] : (tensor<2x4x4xf64>) -> tensor<1x4x4xf64>
    %154 = stablehlo.reshape %153 : (tensor<1x4x4xf64>) -> tensor<4x4xf64>
    %155 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %156 = stablehlo.broadcast_in_dim %154, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %157 = stablehlo.broadcast_in_dim %155, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %158 = stablehlo.concatenate %156, %157, dim = 0 : (tensor<1x4x4xf64>, tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %159:2 = call @slogdet_8(%158) : (tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>)
    %160 = call @eigvals_11(%151) : (tensor<2x4x4xf64>) -> tensor<2x4xcomplex<f64>>
    %161 = stablehlo.abs %160 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %162 = call @sort_12(%161) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %163 = call @svd_13(%151) : (tensor<2x4x4xf64>) -> tensor<2x4xf64>
    %164 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %165 = stablehlo.transpose %164, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %166 = stablehlo.real %165 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %167 = stablehlo.imag %165 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %168 = stablehlo.negate %167 : tensor<2x4x4xf64>
    %169 = stablehlo.complex %166, %168 : tensor<2x4x4xcomplex<f64>>
    %170 = stablehlo.dot_general %164, %169, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %171 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %172 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %173 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %174 = stablehlo.add %171, %173 : tensor<4x4xi64>
    %175 = stablehlo.compare EQ, %174, %172, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %176 = stablehlo.convert %175 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %177 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %178 = stablehlo.multiply %177, %176 : tensor<4x4xcomplex<f64>>
    %179 = stablehlo.broadcast_in_dim %178, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %180 = stablehlo.broadcast_in_dim %179, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %181 = stablehlo.add %170, %180 : tensor<2x4x4xcomplex<f64>>
    %182 = stablehlo.slice %181 [0:1, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %183 = stablehlo.reshape %182 : (tensor<1x4x4xcomplex<f64>>) -> tensor<4x4xcomplex<f64>>
    %184 = stablehlo.transpose %164, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %185 = stablehlo.real %184 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %186 = stablehlo.imag %184 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %187 = stablehlo.negate %186 : tensor<2x4x4xf64>
    %188 = stablehlo.complex %185, %187 : tensor<2x4x4xcomplex<f64>>
    %189 = stablehlo.dot_general %164, %188, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %190 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %191 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %192 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %193 = stablehlo.add %190, %192 : tensor<4x4xi64>
    %194 = stablehlo.compare EQ, %193, %191, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %195 = stablehlo.convert %194 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %196 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %197 = stablehlo.multiply %196, %195 : tensor<4x4xcomplex<f64>>
    %198 = stablehlo.broadcast_in_dim %197, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %199 = stablehlo.broadcast_in_dim %198, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %200 = stablehlo.add %189, %199 : tensor<2x4x4xcomplex<f64>>
    %201 = stablehlo.slice %200 [0:1, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %202 = stablehlo.reshape %201 : (tensor<1x4x4xcomplex<f64>>) -> tensor<4x4xcomplex<f64>>
    %203 = stablehlo.negate %202 : tensor<4x4xcomplex<f64>>
    %204 = stablehlo.broadcast_in_dim %183, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %205 = stablehlo.broadcast_in_dim %203, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %206 = stablehlo.concatenate %204, %205, dim = 0 : (tensor<1x4x4xcomplex<f64>>, tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %207 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %208 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %209 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %210 = stablehlo.concatenate %207, %208, %209, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %211 = "stablehlo.scatter"(%164, %210, %cst_0) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [0, 1, 2]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<complex<f64>>, %arg9: tensor<complex<f64>>):
      stablehlo.return %arg9 : tensor<complex<f64>>
    }) : (tensor<2x4x4xcomplex<f64>>, tensor<3xi32>, tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %212 = call @cholesky_14(%206) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %213 = stablehlo.slice %164 [0:1, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %214 = stablehlo.reshape %213 : (tensor<1x4x4xcomplex<f64>>) -> tensor<4x4xcomplex<f64>>
    %215 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %216 = stablehlo.broadcast_in_dim %214, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %217 = stablehlo.broadcast_in_dim %215, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %218 = stablehlo.concatenate %216, %217, dim = 0 : (tensor<1x4x4xcomplex<f64>>, tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %219:2 = call @slogdet_15(%218) : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2xcomplex<f64>>, tensor<2xf64>)
    %220 = call @eigvals_18(%211) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %221 = stablehlo.abs %220 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %222 = call @sort_12(%221) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %223 = call @svd_19(%211) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xf64>
    %224 = stablehlo.real %212 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %225 = stablehlo.imag %212 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    return %39, %46#1, %49, %50, %111, %112, %106#1, %109, %110, %152, %159#1, %162, %163, %224, %225, %219#1, %222, %223 : tensor<2x4x4xf32>, tensor<2xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf64>, tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>
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
  func.func private @slogdet(%arg0: tensor<2x4x4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %37 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %37 : tensor<i1>
    } do {
      %37:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %38 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %38, %37#0, %37#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal(%8) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %21 = stablehlo.compare LT, %11, %20, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %22 = call @count_nonzero(%21) : (tensor<2x4xi1>) -> tensor<2xi64>
    %23 = stablehlo.add %19, %22 : tensor<2xi64>
    %24 = call @remainder(%23, %c_1) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xf32>
    %30 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<2xf32>
    %32 = call @_where_0(%14, %cst_3, %31) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    %33 = stablehlo.abs %11 : tensor<2x4xf32>
    %34 = stablehlo.log %33 : tensor<2x4xf32>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %36 = call @_where_0(%14, %cst, %35) : (tensor<2xi1>, tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    return %32, %36 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @closed_call(%arg0: tensor<2x4xi32>, %arg1: tensor<i64>, %arg2: tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<4> : tensor<i64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %c_3 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg1, %c_3 : tensor<i64>
    %1 = stablehlo.compare LT, %arg1, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = stablehlo.convert %arg1 : tensor<i64>
    %3 = stablehlo.add %2, %c_1 : tensor<i64>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<i1>, tensor<i64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 2, 1>}> : (tensor<2x4xi32>, tensor<1xi64>) -> tensor<2x1xi32>
    %7 = stablehlo.reshape %6 : (tensor<2x1xi32>) -> tensor<2xi32>
    %8 = stablehlo.compare LT, %arg1, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %9 = stablehlo.convert %arg1 : tensor<i64>
    %10 = stablehlo.add %9, %c_1 : tensor<i64>
    %11 = stablehlo.select %8, %10, %arg1 : tensor<i1>, tensor<i64>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %13 = "stablehlo.gather"(%arg2, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 2, 1>}> : (tensor<2x4xi32>, tensor<1xi64>) -> tensor<2x1xi32>
    %14 = stablehlo.reshape %13 : (tensor<2x1xi32>) -> tensor<2xi32>
    %15 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %16 = stablehlo.compare LT, %7, %15, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %17 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %18 = stablehlo.add %7, %17 : tensor<2xi32>
    %19 = stablehlo.select %16, %18, %7 : tensor<2xi1>, tensor<2xi32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %21 = "stablehlo.gather"(%arg2, %20) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x1xi32>
    %22 = stablehlo.reshape %21 : (tensor<2x1xi32>) -> tensor<2xi32>
    %23 = stablehlo.compare LT, %arg1, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %24 = stablehlo.add %arg1, %c_1 : tensor<i64>
    %25 = stablehlo.select %23, %24, %arg1 : tensor<i1>, tensor<i64>
    %26 = stablehlo.convert %25 : (tensor<i64>) -> tensor<i32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %28 = "stablehlo.scatter"(%arg2, %27, %22) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2x4xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<2x4xi32>
    %29 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %30 = stablehlo.compare LT, %7, %29, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %31 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %32 = stablehlo.add %7, %31 : tensor<2xi32>
    %33 = stablehlo.select %30, %32, %7 : tensor<2xi1>, tensor<2xi32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %35 = "stablehlo.scatter"(%28, %34, %14) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2x4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x4xi32>
    return %0, %35 : tensor<i64>, tensor<2x4xi32>
  }
  func.func private @diagonal(%arg0: tensor<2x4x4xf32>) -> tensor<2x4xf32> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xf32>, tensor<4x2xi32>) -> tensor<2x4xf32>
    return %17 : tensor<2x4xf32>
  }
  func.func private @count_nonzero(%arg0: tensor<2x4xi1>) -> tensor<2xi64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<2x4xi1>
    %1 = stablehlo.compare NE, %arg0, %0, UNSIGNED : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
    %2 = stablehlo.convert %1 : (tensor<2x4xi1>) -> tensor<2x4xi32>
    %3 = stablehlo.convert %2 : (tensor<2x4xi32>) -> tensor<2x4xi64>
    %4 = stablehlo.reduce(%3 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x4xi64>, tensor<i64>) -> tensor<2xi64>
    return %4 : tensor<2xi64>
  }
  func.func private @remainder(%arg0: tensor<2xi64>, %arg1: tensor<i64>) -> tensor<2xi64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.convert %arg1 : tensor<i64>
    %1 = stablehlo.compare EQ, %0, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %2 = call @_where(%1, %c, %0) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %4 = stablehlo.remainder %arg0, %3 : tensor<2xi64>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %9 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<2xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
    %12 = stablehlo.and %11, %6 : tensor<2xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %14 = stablehlo.add %4, %13 : tensor<2xi64>
    %15 = stablehlo.select %12, %14, %4 : tensor<2xi1>, tensor<2xi64>
    return %15 : tensor<2xi64>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
  func.func private @_where_0(%arg0: tensor<2xi1>, %arg1: tensor<f32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @eigvals(%arg0: tensor<2x4x4xf32>) -> tensor<2x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.complex %0#0, %0#1 : tensor<2x4xcomplex<f32>>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.compare EQ, %0#4, %2, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %7 = stablehlo.select %6, %1, %5 : tensor<2x4xi1>, tensor<2x4xcomplex<f32>>
    return %7 : tensor<2x4xcomplex<f32>>
  }
  func.func private @sort(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.select %3, %cst, %2 : tensor<i1>, tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.select %5, %cst_0, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %cst, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  func.func private @svd(%arg0: tensor<2x4x4xf32>) -> tensor<2x4xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf32>
    return %6 : tensor<2x4xf32>
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
  func.func private @slogdet_2(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>) {
    %cst = stablehlo.constant dense<(0xFF800000,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_cgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %38 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %38 : tensor<i1>
    } do {
      %38:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %39 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %39, %38#0, %38#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_3(%8) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.abs %11 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %21 = stablehlo.convert %20 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %22 = stablehlo.divide %11, %21 : tensor<2x4xcomplex<f32>>
    %23 = stablehlo.reduce(%22 init: %cst_1) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %24 = call @remainder(%19, %c_0) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xcomplex<f32>>
    %30 = stablehlo.multiply %23, %29 : tensor<2xcomplex<f32>>
    %31 = call @_where_4(%14, %cst_3, %30) : (tensor<2xi1>, tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %32 = stablehlo.abs %11 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %33 = stablehlo.log %32 : tensor<2x4xf32>
    %34 = stablehlo.convert %33 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %36 = call @_where_4(%14, %cst, %35) : (tensor<2xi1>, tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %37 = stablehlo.real %36 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    return %31, %37 : tensor<2xcomplex<f32>>, tensor<2xf32>
  }
  func.func private @diagonal_3(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>) -> tensor<2x4xcomplex<f32>>
    return %17 : tensor<2x4xcomplex<f32>>
  }
  func.func private @_where_4(%arg0: tensor<2xi1>, %arg1: tensor<complex<f32>>, %arg2: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xcomplex<f32>>
    return %1 : tensor<2xcomplex<f32>>
  }
  func.func private @eigvals_5(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:4 = stablehlo.custom_call @lapack_cgeev_ffi(%arg0) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#3, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#0, %4 : tensor<2x4xi1>, tensor<2x4xcomplex<f32>>
    return %6 : tensor<2x4xcomplex<f32>>
  }
  func.func private @svd_6(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf32>
    return %6 : tensor<2x4xf32>
  }
  func.func private @cholesky_7(%arg0: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
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
  func.func private @slogdet_8(%arg0: tensor<2x4x4xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %37 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %37 : tensor<i1>
    } do {
      %37:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %38 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %38, %37#0, %37#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_9(%8) : (tensor<2x4x4xf64>) -> tensor<2x4xf64>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %21 = stablehlo.compare LT, %11, %20, FLOAT : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xi1>
    %22 = call @count_nonzero(%21) : (tensor<2x4xi1>) -> tensor<2xi64>
    %23 = stablehlo.add %19, %22 : tensor<2xi64>
    %24 = call @remainder(%23, %c_1) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xf64>
    %30 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %31 = stablehlo.multiply %30, %29 : tensor<2xf64>
    %32 = call @_where_10(%14, %cst_3, %31) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    %33 = stablehlo.abs %11 : tensor<2x4xf64>
    %34 = stablehlo.log %33 : tensor<2x4xf64>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf64>, tensor<f64>) -> tensor<2xf64>
    %36 = call @_where_10(%14, %cst, %35) : (tensor<2xi1>, tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
    return %32, %36 : tensor<2xf64>, tensor<2xf64>
  }
  func.func private @diagonal_9(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xf64>, tensor<4x2xi32>) -> tensor<2x4xf64>
    return %17 : tensor<2x4xf64>
  }
  func.func private @_where_10(%arg0: tensor<2xi1>, %arg1: tensor<f64>, %arg2: tensor<2xf64>) -> tensor<2xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xf64>
    return %1 : tensor<2xf64>
  }
  func.func private @eigvals_11(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgeev_ffi(%arg0) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.complex %0#0, %0#1 : tensor<2x4xcomplex<f64>>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.compare EQ, %0#4, %2, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %7 = stablehlo.select %6, %1, %5 : tensor<2x4xi1>, tensor<2x4xcomplex<f64>>
    return %7 : tensor<2x4xcomplex<f64>>
  }
  func.func private @sort_12(%arg0: tensor<2x4xf64>) -> tensor<2x4xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %1 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.select %3, %cst, %2 : tensor<i1>, tensor<f64>
      %5 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.select %5, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.select %7, %cst, %6 : tensor<i1>, tensor<f64>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    return %0 : tensor<2x4xf64>
  }
  func.func private @svd_13(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf64>
    return %6 : tensor<2x4xf64>
  }
  func.func private @cholesky_14(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
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
  func.func private @slogdet_15(%arg0: tensor<2x4x4xcomplex<f64>>) -> (tensor<2xcomplex<f64>>, tensor<2xf64>) {
    %cst = stablehlo.constant dense<(0xFFF0000000000000,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<-2> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<4> : tensor<i64>
    %c_6 = stablehlo.constant dense<0> : tensor<i64>
    %cst_7 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %c_9 = stablehlo.constant dense<1> : tensor<i32>
    %0:3 = stablehlo.custom_call @lapack_zgetrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xi32>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.subtract %0#1, %1 : tensor<2x4xi32>
    %3 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.compare GE, %0#2, %3, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %6 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.select %7, %0#0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %10:4 = stablehlo.while(%iterArg = %2, %iterArg_10 = %c_6, %iterArg_11 = %c_6, %iterArg_12 = %9) : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    cond {
      %38 = stablehlo.compare LT, %iterArg_10, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %38 : tensor<i1>
    } do {
      %38:2 = func.call @closed_call(%iterArg, %iterArg_11, %iterArg_12) : (tensor<2x4xi32>, tensor<i64>, tensor<2x4xi32>) -> (tensor<i64>, tensor<2x4xi32>)
      %39 = stablehlo.add %iterArg_10, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %39, %38#0, %38#1 : tensor<2x4xi32>, tensor<i64>, tensor<i64>, tensor<2x4xi32>
    }
    %11 = call @diagonal_16(%8) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %13 = stablehlo.compare EQ, %11, %12, FLOAT : (tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>) -> tensor<2x4xi1>
    %14 = stablehlo.reduce(%13 init: %c_2) applies stablehlo.or across dimensions = [1] : (tensor<2x4xi1>, tensor<i1>) -> tensor<2xi1>
    %15 = stablehlo.iota dim = 0 : tensor<4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %18 = stablehlo.compare NE, %2, %17, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %19 = call @count_nonzero(%18) : (tensor<2x4xi1>) -> tensor<2xi64>
    %20 = stablehlo.abs %11 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %21 = stablehlo.convert %20 : (tensor<2x4xf64>) -> tensor<2x4xcomplex<f64>>
    %22 = stablehlo.divide %11, %21 : tensor<2x4xcomplex<f64>>
    %23 = stablehlo.reduce(%22 init: %cst_1) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %24 = call @remainder(%19, %c_0) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %26 = stablehlo.multiply %25, %24 : tensor<2xi64>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %28 = stablehlo.add %26, %27 : tensor<2xi64>
    %29 = stablehlo.convert %28 : (tensor<2xi64>) -> tensor<2xcomplex<f64>>
    %30 = stablehlo.multiply %23, %29 : tensor<2xcomplex<f64>>
    %31 = call @_where_17(%14, %cst_3, %30) : (tensor<2xi1>, tensor<complex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %32 = stablehlo.abs %11 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %33 = stablehlo.log %32 : tensor<2x4xf64>
    %34 = stablehlo.convert %33 : (tensor<2x4xf64>) -> tensor<2x4xcomplex<f64>>
    %35 = stablehlo.reduce(%34 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<2x4xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %36 = call @_where_17(%14, %cst, %35) : (tensor<2xi1>, tensor<complex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %37 = stablehlo.real %36 : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
    return %31, %37 : tensor<2xcomplex<f64>>, tensor<2xf64>
  }
  func.func private @diagonal_16(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>> {
    %c = stablehlo.constant dense<4> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    %1 = stablehlo.iota dim = 0 : tensor<4xi64>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %5 = stablehlo.add %0, %4 : tensor<4xi64>
    %6 = stablehlo.select %3, %5, %0 : tensor<4xi1>, tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %10 = stablehlo.add %1, %9 : tensor<4xi64>
    %11 = stablehlo.select %8, %10, %1 : tensor<4xi1>, tensor<4xi64>
    %12 = stablehlo.convert %6 : (tensor<4xi64>) -> tensor<4xi32>
    %13 = stablehlo.convert %11 : (tensor<4xi64>) -> tensor<4xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %16 = stablehlo.concatenate %14, %15, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %17 = "stablehlo.gather"(%arg0, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 1>}> : (tensor<2x4x4xcomplex<f64>>, tensor<4x2xi32>) -> tensor<2x4xcomplex<f64>>
    return %17 : tensor<2x4xcomplex<f64>>
  }
  func.func private @_where_17(%arg0: tensor<2xi1>, %arg1: tensor<complex<f64>>, %arg2: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<2xi1>, tensor<2xcomplex<f64>>
    return %1 : tensor<2xcomplex<f64>>
  }
  func.func private @eigvals_18(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:4 = stablehlo.custom_call @lapack_zgeev_ffi(%arg0) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#3, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#0, %4 : tensor<2x4xi1>, tensor<2x4xcomplex<f64>>
    return %6 : tensor<2x4xcomplex<f64>>
  }
  func.func private @svd_19(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf64>
    return %6 : tensor<2x4xf64>
  }
}
