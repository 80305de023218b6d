module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4xf32> {jax.result_info = "result[0]"}, tensor<2x4xf32> {jax.result_info = "result[1]"}, tensor<2x4x4xf32> {jax.result_info = "result[2]"}, tensor<2x4x4xf32> {jax.result_info = "result[3]"}, tensor<2x4x4xf32> {jax.result_info = "result[4]"}, tensor<2x4x4xf32> {jax.result_info = "result[5]"}, tensor<2x4xf32> {jax.result_info = "result[6]"}, tensor<2x4xf32> {jax.result_info = "result[7]"}, tensor<2x4xf32> {jax.result_info = "result[8]"}, tensor<2x4x4xf32> {jax.result_info = "result[9]"}, tensor<2x4x4xf32> {jax.result_info = "result[10]"}, tensor<2x4x4xf32> {jax.result_info = "result[11]"}, tensor<2x4x4xf32> {jax.result_info = "result[12]"}, tensor<2x4xf32> {jax.result_info = "result[13]"}, tensor<2x4xf64> {jax.result_info = "result[14]"}, tensor<2x4xf64> {jax.result_info = "result[15]"}, tensor<2x4x4xf64> {jax.result_info = "result[16]"}, tensor<2x4x4xf64> {jax.result_info = "result[17]"}, tensor<2x4x4xf64> {jax.result_info = "result[18]"}, tensor<2x4x4xf64> {jax.result_info = "result[19]"}, tensor<2x4xf64> {jax.result_info = "result[20]"}, tensor<2x4xf64> {jax.result_info = "result[21]"}, tensor<2x4xf64> {jax.result_info = "result[22]"}, tensor<2x4x4xf64> {jax.result_info = "result[23]"}, tensor<2x4x4xf64> {jax.result_info = "result[24]"}, tensor<2x4x4xf64> {jax.result_info = "result[25]"}, tensor<2x4x4xf64> {jax.result_info = "result[26]"}, tensor<2x4xf64> {jax.result_info = "result[27]"}) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %1 = stablehlo.complex %0#0, %0#1 : tensor<2x4xcomplex<f32>>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.compare EQ, %0#4, %2, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %7 = stablehlo.select %6, %1, %5 : tensor<2x4xi1>, tensor<2x4xcomplex<f32>>
    %8 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %11 = stablehlo.select %10, %0#3, %9 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %12:5 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {mhlo.backend_config = {compute_left = 86 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %14 = stablehlo.compare EQ, %12#4, %13, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %18 = stablehlo.select %17, %12#2, %16 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %19 = stablehlo.convert %arg0 : (tensor<2x4x4xf32>) -> tensor<2x4x4xcomplex<f32>>
    %20 = stablehlo.real %7 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %21 = call @sort(%20) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %22 = stablehlo.imag %7 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %23 = stablehlo.abs %22 : tensor<2x4xf32>
    %24 = call @sort(%23) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %25 = stablehlo.dot_general %19, %11, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %26 = stablehlo.broadcast_in_dim %7, dims = [0, 2] : (tensor<2x4xcomplex<f32>>) -> tensor<2x1x4xcomplex<f32>>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %28 = stablehlo.multiply %11, %27 : tensor<2x4x4xcomplex<f32>>
    %29 = stablehlo.subtract %25, %28 : tensor<2x4x4xcomplex<f32>>
    %30 = stablehlo.transpose %18, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %31 = stablehlo.real %30 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %32 = stablehlo.imag %30 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %33 = stablehlo.negate %32 : tensor<2x4x4xf32>
    %34 = stablehlo.complex %31, %33 : tensor<2x4x4xcomplex<f32>>
    %35 = stablehlo.dot_general %34, %19, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %36 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
    %37 = stablehlo.transpose %18, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %38 = stablehlo.real %37 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %39 = stablehlo.imag %37 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %40 = stablehlo.negate %39 : tensor<2x4x4xf32>
    %41 = stablehlo.complex %38, %40 : tensor<2x4x4xcomplex<f32>>
    %42 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %43 = stablehlo.multiply %42, %41 : tensor<2x4x4xcomplex<f32>>
    %44 = stablehlo.subtract %35, %43 : tensor<2x4x4xcomplex<f32>>
    %45 = call @eigvals(%arg0) : (tensor<2x4x4xf32>) -> tensor<2x4xcomplex<f32>>
    %46 = stablehlo.real %45 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %47 = call @sort(%46) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %48 = stablehlo.real %29 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %49 = stablehlo.imag %29 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %50 = stablehlo.real %44 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %51 = stablehlo.imag %44 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %52 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %53:4 = stablehlo.custom_call @lapack_cgeev_ffi(%52) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %54 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %55 = stablehlo.compare EQ, %53#3, %54, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %57 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %58 = stablehlo.broadcast_in_dim %56, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %59 = stablehlo.select %58, %53#0, %57 : tensor<2x4xi1>, tensor<2x4xcomplex<f32>>
    %60 = stablehlo.broadcast_in_dim %55, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %61 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %62 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %63 = stablehlo.select %62, %53#2, %61 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %64:4 = stablehlo.custom_call @lapack_cgeev_ffi(%52) {mhlo.backend_config = {compute_left = 86 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2xi32>)
    %65 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %66 = stablehlo.compare EQ, %64#3, %65, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %68 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %69 = stablehlo.broadcast_in_dim %67, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %70 = stablehlo.select %69, %64#1, %68 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %71 = stablehlo.real %59 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %72 = call @sort(%71) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %73 = stablehlo.imag %59 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %74 = stablehlo.abs %73 : tensor<2x4xf32>
    %75 = call @sort(%74) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %76 = stablehlo.dot_general %52, %63, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %77 = stablehlo.broadcast_in_dim %59, dims = [0, 2] : (tensor<2x4xcomplex<f32>>) -> tensor<2x1x4xcomplex<f32>>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %79 = stablehlo.multiply %63, %78 : tensor<2x4x4xcomplex<f32>>
    %80 = stablehlo.subtract %76, %79 : tensor<2x4x4xcomplex<f32>>
    %81 = stablehlo.transpose %70, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %82 = stablehlo.real %81 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %83 = stablehlo.imag %81 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %84 = stablehlo.negate %83 : tensor<2x4x4xf32>
    %85 = stablehlo.complex %82, %84 : tensor<2x4x4xcomplex<f32>>
    %86 = stablehlo.dot_general %85, %52, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %87 = stablehlo.broadcast_in_dim %59, dims = [0, 1] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
    %88 = stablehlo.transpose %70, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %89 = stablehlo.real %88 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %90 = stablehlo.imag %88 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %91 = stablehlo.negate %90 : tensor<2x4x4xf32>
    %92 = stablehlo.complex %89, %91 : tensor<2x4x4xcomplex<f32>>
    %93 = stablehlo.broadcast_in_dim %87, dims = [0, 1, 2] : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %94 = stablehlo.multiply %93, %92 : tensor<2x4x4xcomplex<f32>>
    %95 = stablehlo.subtract %86, %94 : tensor<2x4x4xcomplex<f32>>
    %96 = call @eigvals_0(%52) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %97 = stablehlo.real %96 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %98 = call @sort(%97) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %99 = stablehlo.real %80 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %100 = stablehlo.imag %80 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %101 = stablehlo.real %95 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %102 = stablehlo.imag %95 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %103:5 = stablehlo.custom_call @lapack_dgeev_ffi(%arg4) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %104 = stablehlo.complex %103#0, %103#1 : tensor<2x4xcomplex<f64>>
    %105 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %106 = stablehlo.compare EQ, %103#4, %105, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %107 = stablehlo.broadcast_in_dim %106, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %108 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %109 = stablehlo.broadcast_in_dim %107, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %110 = stablehlo.select %109, %104, %108 : tensor<2x4xi1>, tensor<2x4xcomplex<f64>>
    %111 = stablehlo.broadcast_in_dim %106, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %112 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %113 = stablehlo.broadcast_in_dim %111, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %114 = stablehlo.select %113, %103#3, %112 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %115:5 = stablehlo.custom_call @lapack_dgeev_ffi(%arg4) {mhlo.backend_config = {compute_left = 86 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %116 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %117 = stablehlo.compare EQ, %115#4, %116, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %118 = stablehlo.broadcast_in_dim %117, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %119 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %120 = stablehlo.broadcast_in_dim %118, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %121 = stablehlo.select %120, %115#2, %119 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %122 = stablehlo.convert %arg4 : (tensor<2x4x4xf64>) -> tensor<2x4x4xcomplex<f64>>
    %123 = stablehlo.real %110 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %124 = call @sort_1(%123) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %125 = stablehlo.imag %110 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %126 = stablehlo.abs %125 : tensor<2x4xf64>
    %127 = call @sort_1(%126) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %128 = stablehlo.dot_general %122, %114, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %129 = stablehlo.broadcast_in_dim %110, dims = [0, 2] : (tensor<2x4xcomplex<f64>>) -> tensor<2x1x4xcomplex<f64>>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %131 = stablehlo.multiply %114, %130 : tensor<2x4x4xcomplex<f64>>
    %132 = stablehlo.subtract %128, %131 : tensor<2x4x4xcomplex<f64>>
    %133 = stablehlo.transpose %121, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %134 = stablehlo.real %133 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %135 = stablehlo.imag %133 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %136 = stablehlo.negate %135 : tensor<2x4x4xf64>
    %137 = stablehlo.complex %134, %136 : tensor<2x4x4xcomplex<f64>>
    %138 = stablehlo.dot_general %137, %122, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %139 = stablehlo.broadcast_in_dim %110, dims = [0, 1] : (tensor<2x4xcomplex<f64>>) -> tensor<2x4x1xcomplex<f64>>
    %140 = stablehlo.transpose %121, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %141 = stablehlo.real %140 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %142 = stablehlo.imag %140 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %143 = stablehlo.negate %142 : tensor<2x4x4xf64>
    %144 = stablehlo.complex %141, %143 : tensor<2x4x4xcomplex<f64>>
    %145 = stablehlo.broadcast_in_dim %139, dims = [0, 1, 2] : (tensor<2x4x1xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %146 = stablehlo.multiply %145, %144 : tensor<2x4x4xcomplex<f64>>
    %147 = stablehlo.subtract %138, %146 : tensor<2x4x4xcomplex<f64>>
    %148 = call @eigvals_2(%arg4) : (tensor<2x4x4xf64>) -> tensor<2x4xcomplex<f64>>
    %149 = stablehlo.real %148 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %150 = call @sort_1(%149) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %151 = stablehlo.real %132 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %152 = stablehlo.imag %132 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %153 = stablehlo.real %147 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %154 = stablehlo.imag %147 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %155 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %156:4 = stablehlo.custom_call @lapack_zgeev_ffi(%155) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %157 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %158 = stablehlo.compare EQ, %156#3, %157, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %159 = stablehlo.broadcast_in_dim %158, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %160 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %161 = stablehlo.broadcast_in_dim %159, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %162 = stablehlo.select %161, %156#0, %160 : tensor<2x4xi1>, tensor<2x4xcomplex<f64>>
    %163 = stablehlo.broadcast_in_dim %158, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %164 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %165 = stablehlo.broadcast_in_dim %163, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %166 = stablehlo.select %165, %156#2, %164 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %167:4 = stablehlo.custom_call @lapack_zgeev_ffi(%155) {mhlo.backend_config = {compute_left = 86 : ui8, compute_right = 86 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2xi32>)
    %168 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %169 = stablehlo.compare EQ, %167#3, %168, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %170 = stablehlo.broadcast_in_dim %169, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %171 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %172 = stablehlo.broadcast_in_dim %170, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %173 = stablehlo.select %172, %167#1, %171 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %174 = stablehlo.real %162 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %175 = call @sort_1(%174) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %176 = stablehlo.imag %162 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %177 = stablehlo.abs %176 : tensor<2x4xf64>
    %178 = call @sort_1(%177) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %179 = stablehlo.dot_general %155, %166, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %180 = stablehlo.broadcast_in_dim %162, dims = [0, 2] : (tensor<2x4xcomplex<f64>>) -> tensor<2x1x4xcomplex<f64>>
    %181 = stablehlo.broadcast_in_dim %180, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %182 = stablehlo.multiply %166, %181 : tensor<2x4x4xcomplex<f64>>
    %183 = stablehlo.subtract %179, %182 : tensor<2x4x4xcomplex<f64>>
    %184 = stablehlo.transpose %173, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %185 = stablehlo.real %184 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %186 = stablehlo.imag %184 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %187 = stablehlo.negate %186 : tensor<2x4x4xf64>
    %188 = stablehlo.complex %185, %187 : tensor<2x4x4xcomplex<f64>>
    %189 = stablehlo.dot_general %188, %155, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %190 = stablehlo.broadcast_in_dim %162, dims = [0, 1] : (tensor<2x4xcomplex<f64>>) -> tensor<2x4x1xcomplex<f64>>
    %191 = stablehlo.transpose %173, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %192 = stablehlo.real %191 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %193 = stablehlo.imag %191 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %194 = stablehlo.negate %193 : tensor<2x4x4xf64>
    %195 = stablehlo.complex %192, %194 : tensor<2x4x4xcomplex<f64>>
    %196 = stablehlo.broadcast_in_dim %190, dims = [0, 1, 2] : (tensor<2x4x1xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %197 = stablehlo.multiply %196, %195 : tensor<2x4x4xcomplex<f64>>
    %198 = stablehlo.subtract %189, %197 : tensor<2x4x4xcomplex<f64>>
    %199 = call @eigvals_3(%155) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %200 = stablehlo.real %199 : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xf64>
    %201 = call @sort_1(%200) : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %202 = stablehlo.real %183 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %203 = stablehlo.imag %183 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %204 = stablehlo.real %198 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %205 = stablehlo.imag %198 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    return %21, %24, %48, %49, %50, %51, %47, %72, %75, %99, %100, %101, %102, %98, %124, %127, %151, %152, %153, %154, %150, %175, %178, %202, %203, %204, %205, %201 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xf64>
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
  func.func private @eigvals_0(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>> {
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
  func.func private @sort_1(%arg0: tensor<2x4xf64>) -> tensor<2x4xf64> {
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
  func.func private @eigvals_2(%arg0: tensor<2x4x4xf64>) -> tensor<2x4xcomplex<f64>> {
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
  func.func private @eigvals_3(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>> {
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
}
