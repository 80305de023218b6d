module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4xf32> {jax.result_info = "result[0]"}, tensor<2x4x4xf32> {jax.result_info = "result[1]"}, tensor<2x4xf32> {jax.result_info = "result[2]"}, tensor<2x4xf32> {jax.result_info = "result[3]"}, tensor<2x4x4xf32> {jax.result_info = "result[4]"}, tensor<0x4x4xf32> {jax.result_info = "result[5]"}, tensor<2x4xf32> {jax.result_info = "result[6]"}, tensor<2x4x4xf32> {jax.result_info = "result[7]"}, tensor<2x4x4xf32> {jax.result_info = "result[8]"}, tensor<2x4xf32> {jax.result_info = "result[9]"}, tensor<2x4xf32> {jax.result_info = "result[10]"}, tensor<2x4x4xf32> {jax.result_info = "result[11]"}, tensor<2x4x4xf32> {jax.result_info = "result[12]"}, tensor<2x4x4xf32> {jax.result_info = "result[13]"}, tensor<2x4x4xf32> {jax.result_info = "result[14]"}, tensor<2x4xf64> {jax.result_info = "result[15]"}, tensor<2x4x4xf64> {jax.result_info = "result[16]"}, tensor<2x4xf64> {jax.result_info = "result[17]"}, tensor<2x4xf64> {jax.result_info = "result[18]"}, tensor<2x4x4xf64> {jax.result_info = "result[19]"}, tensor<2x4x4xf64> {jax.result_info = "result[20]"}, tensor<2x4xf64> {jax.result_info = "result[21]"}, tensor<2x4x4xf64> {jax.result_info = "result[22]"}, tensor<2x4x4xf64> {jax.result_info = "result[23]"}, tensor<2x4xf64> {jax.result_info = "result[24]"}, tensor<2x4xf64> {jax.result_info = "result[25]"}, tensor<2x4x4xf64> {jax.result_info = "result[26]"}, tensor<2x4x4xf64> {jax.result_info = "result[27]"}, tensor<0x4x4xf64> {jax.result_info = "result[28]"}, tensor<0x4x4xf64> {jax.result_info = "result[29]"}) {
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_10 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_11 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_12 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_13 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_14 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_16 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %c_17 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %5 = stablehlo.add %2, %4 : tensor<4x4xi64>
    %6 = stablehlo.compare EQ, %5, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %7 = stablehlo.convert %6 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %8 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<4x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %12 = stablehlo.add %1, %11 : tensor<2x4x4xf32>
    %13:2 = call @eigh(%12) : (tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4x4xf32>)
    %14 = call @tril(%arg0) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %15 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %16 = stablehlo.multiply %15, %14 : tensor<2x4x4xf32>
    %17 = stablehlo.add %arg0, %16 : tensor<2x4x4xf32>
    %18:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%17) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2xi32>)
    %19 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %20 = stablehlo.compare EQ, %18#2, %19, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %22 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %23 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %24 = stablehlo.select %23, %18#1, %22 : tensor<2x4xi1>, tensor<2x4xf32>
    %25 = call @tril(%arg0) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %26 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %27 = stablehlo.multiply %26, %25 : tensor<2x4x4xf32>
    %28 = stablehlo.add %arg0, %27 : tensor<2x4x4xf32>
    %29:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%28) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2xi32>)
    %30 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %31 = stablehlo.compare EQ, %29#2, %30, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %33 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %35 = stablehlo.select %34, %29#1, %33 : tensor<2x4xi1>, tensor<2x4xf32>
    %36 = stablehlo.dot_general %12, %13#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %37 = stablehlo.broadcast_in_dim %13#0, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    %39 = stablehlo.multiply %13#1, %38 : tensor<2x4x4xf32>
    %40 = stablehlo.subtract %36, %39 : tensor<2x4x4xf32>
    %41 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %42 = stablehlo.dot_general %arg0, %41, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %43 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %44 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %45 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %46 = stablehlo.add %43, %45 : tensor<4x4xi64>
    %47 = stablehlo.compare EQ, %46, %44, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %48 = stablehlo.convert %47 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %49 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %50 = stablehlo.multiply %49, %48 : tensor<4x4xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<1x4x4xf32>) -> tensor<2x4x4xf32>
    %53 = stablehlo.add %42, %52 : tensor<2x4x4xf32>
    %54:2 = call @eigh(%53) : (tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4x4xf32>)
    %55 = stablehlo.sqrt %54#0 : tensor<2x4xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2] : (tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    %58 = stablehlo.multiply %54#1, %57 : tensor<2x4x4xf32>
    %59 = stablehlo.transpose %54#1, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %60 = stablehlo.dot_general %58, %59, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %61 = stablehlo.slice %arg0 [0:0, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<0x4x4xf32>
    %62 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %63 = stablehlo.transpose %62, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %64 = stablehlo.real %63 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %65 = stablehlo.imag %63 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %66 = stablehlo.negate %65 : tensor<2x4x4xf32>
    %67 = stablehlo.complex %64, %66 : tensor<2x4x4xcomplex<f32>>
    %68 = stablehlo.dot_general %62, %67, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %69 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %70 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %71 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %72 = stablehlo.add %69, %71 : tensor<4x4xi64>
    %73 = stablehlo.compare EQ, %72, %70, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %74 = stablehlo.convert %73 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %75 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %76 = stablehlo.multiply %75, %74 : tensor<4x4xcomplex<f32>>
    %77 = stablehlo.broadcast_in_dim %76, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %79 = stablehlo.add %68, %78 : tensor<2x4x4xcomplex<f32>>
    %80:2 = call @eigh_0(%79) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>)
    %81 = call @tril_1(%62) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %82 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %83 = stablehlo.multiply %82, %81 : tensor<2x4x4xcomplex<f32>>
    %84 = stablehlo.add %62, %83 : tensor<2x4x4xcomplex<f32>>
    %85:3 = stablehlo.custom_call @lapack_cheevd_ffi(%84) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2xi32>)
    %86 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %87 = stablehlo.compare EQ, %85#2, %86, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %88 = stablehlo.broadcast_in_dim %87, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %89 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %90 = stablehlo.broadcast_in_dim %88, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %91 = stablehlo.select %90, %85#1, %89 : tensor<2x4xi1>, tensor<2x4xf32>
    %92 = call @tril_1(%62) : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %93 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %94 = stablehlo.multiply %93, %92 : tensor<2x4x4xcomplex<f32>>
    %95 = stablehlo.add %62, %94 : tensor<2x4x4xcomplex<f32>>
    %96:3 = stablehlo.custom_call @lapack_cheevd_ffi(%95) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2xi32>)
    %97 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %98 = stablehlo.compare EQ, %96#2, %97, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %100 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %101 = stablehlo.broadcast_in_dim %99, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %102 = stablehlo.select %101, %96#1, %100 : tensor<2x4xi1>, tensor<2x4xf32>
    %103 = stablehlo.dot_general %79, %80#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %104 = stablehlo.broadcast_in_dim %80#0, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %105 = stablehlo.convert %104 : (tensor<2x1x4xf32>) -> tensor<2x1x4xcomplex<f32>>
    %106 = stablehlo.broadcast_in_dim %105, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %107 = stablehlo.multiply %80#1, %106 : tensor<2x4x4xcomplex<f32>>
    %108 = stablehlo.subtract %103, %107 : tensor<2x4x4xcomplex<f32>>
    %109 = stablehlo.transpose %62, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %110 = stablehlo.real %109 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %111 = stablehlo.imag %109 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %112 = stablehlo.negate %111 : tensor<2x4x4xf32>
    %113 = stablehlo.complex %110, %112 : tensor<2x4x4xcomplex<f32>>
    %114 = stablehlo.dot_general %62, %113, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %115 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %116 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %117 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %118 = stablehlo.add %115, %117 : tensor<4x4xi64>
    %119 = stablehlo.compare EQ, %118, %116, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %120 = stablehlo.convert %119 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %121 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %122 = stablehlo.multiply %121, %120 : tensor<4x4xcomplex<f32>>
    %123 = stablehlo.broadcast_in_dim %122, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %125 = stablehlo.add %114, %124 : tensor<2x4x4xcomplex<f32>>
    %126:2 = call @eigh_0(%125) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>)
    %127 = stablehlo.sqrt %126#0 : tensor<2x4xf32>
    %128 = stablehlo.broadcast_in_dim %127, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %129 = stablehlo.convert %128 : (tensor<2x1x4xf32>) -> tensor<2x1x4xcomplex<f32>>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %131 = stablehlo.multiply %126#1, %130 : tensor<2x4x4xcomplex<f32>>
    %132 = stablehlo.transpose %126#1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %133 = stablehlo.real %132 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %134 = stablehlo.imag %132 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %135 = stablehlo.negate %134 : tensor<2x4x4xf32>
    %136 = stablehlo.complex %133, %135 : tensor<2x4x4xcomplex<f32>>
    %137 = stablehlo.dot_general %131, %136, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %138 = stablehlo.transpose %62, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %139 = stablehlo.real %138 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %140 = stablehlo.imag %138 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %141 = stablehlo.negate %140 : tensor<2x4x4xf32>
    %142 = stablehlo.complex %139, %141 : tensor<2x4x4xcomplex<f32>>
    %143 = stablehlo.dot_general %62, %142, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %144 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %145 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %146 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %147 = stablehlo.add %144, %146 : tensor<4x4xi64>
    %148 = stablehlo.compare EQ, %147, %145, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %149 = stablehlo.convert %148 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %150 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %151 = stablehlo.multiply %150, %149 : tensor<4x4xcomplex<f32>>
    %152 = stablehlo.broadcast_in_dim %151, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %153 = stablehlo.broadcast_in_dim %152, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %154 = stablehlo.add %143, %153 : tensor<2x4x4xcomplex<f32>>
    %155:5 = call @eigh_2(%154) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>)
    %156 = stablehlo.sqrt %155#0 : tensor<2x4xf32>
    %157 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %158 = stablehlo.divide %157, %156 : tensor<2x4xf32>
    %159 = stablehlo.broadcast_in_dim %156, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %160 = stablehlo.convert %159 : (tensor<2x1x4xf32>) -> tensor<2x1x4xcomplex<f32>>
    %161 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %162 = stablehlo.multiply %155#1, %161 : tensor<2x4x4xcomplex<f32>>
    %163 = stablehlo.transpose %155#1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %164 = stablehlo.real %163 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %165 = stablehlo.imag %163 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %166 = stablehlo.negate %165 : tensor<2x4x4xf32>
    %167 = stablehlo.complex %164, %166 : tensor<2x4x4xcomplex<f32>>
    %168 = stablehlo.dot_general %162, %167, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %169 = stablehlo.abs %168 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %170 = stablehlo.real %168 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %171 = stablehlo.imag %168 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %172 = stablehlo.negate %171 : tensor<2x4x4xf32>
    %173 = stablehlo.complex %170, %172 : tensor<2x4x4xcomplex<f32>>
    %174 = stablehlo.convert %169 : (tensor<2x4x4xf32>) -> tensor<2x4x4xcomplex<f32>>
    %175 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %176 = stablehlo.compare EQ, %174, %175, FLOAT : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xi1>
    %177 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %178 = stablehlo.select %176, %177, %174 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %179 = stablehlo.divide %173, %178 : tensor<2x4x4xcomplex<f32>>
    %180 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %181 = stablehlo.multiply %180, %169 : tensor<2x4x4xf32>
    %182 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %183 = stablehlo.multiply %182, %181 : tensor<2x4x4xf32>
    %184 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %185 = stablehlo.complex %183, %184 : tensor<2x4x4xcomplex<f32>>
    %186 = stablehlo.multiply %185, %179 : tensor<2x4x4xcomplex<f32>>
    %187 = stablehlo.dot_general %186, %162, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %188 = stablehlo.transpose %187, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %189 = stablehlo.dot_general %186, %167, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %190 = stablehlo.real %188 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %191 = stablehlo.imag %188 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %192 = stablehlo.negate %191 : tensor<2x4x4xf32>
    %193 = stablehlo.complex %190, %192 : tensor<2x4x4xcomplex<f32>>
    %194 = stablehlo.transpose %193, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %195 = stablehlo.multiply %155#1, %189 : tensor<2x4x4xcomplex<f32>>
    %196 = stablehlo.reduce(%195 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<2x4x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %197 = stablehlo.reshape %196 : (tensor<2x4xcomplex<f32>>) -> tensor<2x1x4xcomplex<f32>>
    %198 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %199 = stablehlo.multiply %189, %198 : tensor<2x4x4xcomplex<f32>>
    %200 = stablehlo.add %194, %199 : tensor<2x4x4xcomplex<f32>>
    %201 = stablehlo.real %197 : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x1x4xf32>
    %202 = stablehlo.convert %201 : tensor<2x1x4xf32>
    %203 = stablehlo.reduce(%202 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %204 = stablehlo.multiply %203, %158 : tensor<2x4xf32>
    %205 = call @eigh_3(%155#2, %155#1, %155#3, %155#4, %204, %200) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>, tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %206 = stablehlo.dot_general %205, %62, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %207 = stablehlo.transpose %206, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %208 = stablehlo.dot_general %205, %142, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %209 = stablehlo.real %207 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %210 = stablehlo.imag %207 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %211 = stablehlo.negate %210 : tensor<2x4x4xf32>
    %212 = stablehlo.complex %209, %211 : tensor<2x4x4xcomplex<f32>>
    %213 = stablehlo.transpose %212, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %214 = stablehlo.add %208, %213 : tensor<2x4x4xcomplex<f32>>
    %215 = stablehlo.real %108 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %216 = stablehlo.imag %108 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %217 = stablehlo.real %137 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %218 = stablehlo.imag %137 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %219 = stablehlo.real %214 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %220 = stablehlo.imag %214 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %221 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %222 = stablehlo.dot_general %arg4, %221, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %223 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %224 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %225 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %226 = stablehlo.add %223, %225 : tensor<4x4xi64>
    %227 = stablehlo.compare EQ, %226, %224, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %228 = stablehlo.convert %227 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %229 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %230 = stablehlo.multiply %229, %228 : tensor<4x4xf64>
    %231 = stablehlo.broadcast_in_dim %230, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %232 = stablehlo.broadcast_in_dim %231, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %233 = stablehlo.add %222, %232 : tensor<2x4x4xf64>
    %234:2 = call @eigh_4(%233) : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>)
    %235 = call @tril_5(%arg4) : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %236 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %237 = stablehlo.multiply %236, %235 : tensor<2x4x4xf64>
    %238 = stablehlo.add %arg4, %237 : tensor<2x4x4xf64>
    %239:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%238) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2xi32>)
    %240 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %241 = stablehlo.compare EQ, %239#2, %240, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %242 = stablehlo.broadcast_in_dim %241, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %243 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %244 = stablehlo.broadcast_in_dim %242, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %245 = stablehlo.select %244, %239#1, %243 : tensor<2x4xi1>, tensor<2x4xf64>
    %246 = call @tril_5(%arg4) : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %247 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %248 = stablehlo.multiply %247, %246 : tensor<2x4x4xf64>
    %249 = stablehlo.add %arg4, %248 : tensor<2x4x4xf64>
    %250:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%249) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2xi32>)
    %251 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %252 = stablehlo.compare EQ, %250#2, %251, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %253 = stablehlo.broadcast_in_dim %252, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %254 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %255 = stablehlo.broadcast_in_dim %253, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %256 = stablehlo.select %255, %250#1, %254 : tensor<2x4xi1>, tensor<2x4xf64>
    %257 = stablehlo.dot_general %233, %234#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %258 = stablehlo.broadcast_in_dim %234#0, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %259 = stablehlo.broadcast_in_dim %258, dims = [0, 1, 2] : (tensor<2x1x4xf64>) -> tensor<2x4x4xf64>
    %260 = stablehlo.multiply %234#1, %259 : tensor<2x4x4xf64>
    %261 = stablehlo.subtract %257, %260 : tensor<2x4x4xf64>
    %262 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %263 = stablehlo.dot_general %arg4, %262, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %264 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %265 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %266 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %267 = stablehlo.add %264, %266 : tensor<4x4xi64>
    %268 = stablehlo.compare EQ, %267, %265, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %269 = stablehlo.convert %268 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %270 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %271 = stablehlo.multiply %270, %269 : tensor<4x4xf64>
    %272 = stablehlo.broadcast_in_dim %271, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %273 = stablehlo.broadcast_in_dim %272, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %274 = stablehlo.add %263, %273 : tensor<2x4x4xf64>
    %275:2 = call @eigh_4(%274) : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>)
    %276 = stablehlo.sqrt %275#0 : tensor<2x4xf64>
    %277 = stablehlo.broadcast_in_dim %276, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %278 = stablehlo.broadcast_in_dim %277, dims = [0, 1, 2] : (tensor<2x1x4xf64>) -> tensor<2x4x4xf64>
    %279 = stablehlo.multiply %275#1, %278 : tensor<2x4x4xf64>
    %280 = stablehlo.transpose %275#1, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %281 = stablehlo.dot_general %279, %280, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %282 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %283 = stablehlo.dot_general %arg4, %282, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %284 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %285 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %286 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %287 = stablehlo.add %284, %286 : tensor<4x4xi64>
    %288 = stablehlo.compare EQ, %287, %285, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %289 = stablehlo.convert %288 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %290 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %291 = stablehlo.multiply %290, %289 : tensor<4x4xf64>
    %292 = stablehlo.broadcast_in_dim %291, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %293 = stablehlo.broadcast_in_dim %292, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %294 = stablehlo.add %283, %293 : tensor<2x4x4xf64>
    %295:5 = call @eigh_6(%294) : (tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>)
    %296 = stablehlo.sqrt %295#0 : tensor<2x4xf64>
    %297 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %298 = stablehlo.divide %297, %296 : tensor<2x4xf64>
    %299 = stablehlo.broadcast_in_dim %296, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %300 = stablehlo.broadcast_in_dim %299, dims = [0, 1, 2] : (tensor<2x1x4xf64>) -> tensor<2x4x4xf64>
    %301 = stablehlo.multiply %295#1, %300 : tensor<2x4x4xf64>
    %302 = stablehlo.transpose %295#1, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %303 = stablehlo.dot_general %301, %302, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %304 = stablehlo.abs %303 : tensor<2x4x4xf64>
    %305 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %306 = stablehlo.compare GE, %303, %305, FLOAT : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xi1>
    %307 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %308 = stablehlo.multiply %307, %304 : tensor<2x4x4xf64>
    %309 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %310 = stablehlo.multiply %309, %308 : tensor<2x4x4xf64>
    %311 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %312 = stablehlo.select %306, %311, %310 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %313 = stablehlo.select %306, %310, %311 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %314 = stablehlo.negate %312 : tensor<2x4x4xf64>
    %315 = stablehlo.add %313, %314 : tensor<2x4x4xf64>
    %316 = stablehlo.dot_general %315, %301, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %317 = stablehlo.transpose %316, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %318 = stablehlo.dot_general %315, %302, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %319 = stablehlo.transpose %317, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %320 = stablehlo.multiply %295#1, %318 : tensor<2x4x4xf64>
    %321 = stablehlo.reduce(%320 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<2x4x4xf64>, tensor<f64>) -> tensor<2x4xf64>
    %322 = stablehlo.reshape %321 : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %323 = stablehlo.broadcast_in_dim %299, dims = [0, 1, 2] : (tensor<2x1x4xf64>) -> tensor<2x4x4xf64>
    %324 = stablehlo.multiply %318, %323 : tensor<2x4x4xf64>
    %325 = stablehlo.add %319, %324 : tensor<2x4x4xf64>
    %326 = stablehlo.reduce(%322 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<2x1x4xf64>, tensor<f64>) -> tensor<2x4xf64>
    %327 = stablehlo.multiply %326, %298 : tensor<2x4xf64>
    %328 = call @eigh_7(%295#2, %295#1, %295#3, %295#4, %327, %325) : (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>, tensor<2x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %329 = stablehlo.dot_general %328, %arg4, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %330 = stablehlo.transpose %329, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %331 = stablehlo.dot_general %328, %282, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %332 = stablehlo.transpose %330, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %333 = stablehlo.add %331, %332 : tensor<2x4x4xf64>
    %334 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %335 = stablehlo.transpose %334, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %336 = stablehlo.real %335 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %337 = stablehlo.imag %335 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %338 = stablehlo.negate %337 : tensor<2x4x4xf64>
    %339 = stablehlo.complex %336, %338 : tensor<2x4x4xcomplex<f64>>
    %340 = stablehlo.dot_general %334, %339, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %341 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %342 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %343 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %344 = stablehlo.add %341, %343 : tensor<4x4xi64>
    %345 = stablehlo.compare EQ, %344, %342, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %346 = stablehlo.convert %345 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %347 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %348 = stablehlo.multiply %347, %346 : tensor<4x4xcomplex<f64>>
    %349 = stablehlo.broadcast_in_dim %348, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %350 = stablehlo.broadcast_in_dim %349, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %351 = stablehlo.add %340, %350 : tensor<2x4x4xcomplex<f64>>
    %352:2 = call @eigh_8(%351) : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>)
    %353 = call @tril_9(%334) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %354 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %355 = stablehlo.multiply %354, %353 : tensor<2x4x4xcomplex<f64>>
    %356 = stablehlo.add %334, %355 : tensor<2x4x4xcomplex<f64>>
    %357:3 = stablehlo.custom_call @lapack_zheevd_ffi(%356) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2xi32>)
    %358 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %359 = stablehlo.compare EQ, %357#2, %358, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %360 = stablehlo.broadcast_in_dim %359, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %361 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %362 = stablehlo.broadcast_in_dim %360, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %363 = stablehlo.select %362, %357#1, %361 : tensor<2x4xi1>, tensor<2x4xf64>
    %364 = call @tril_9(%334) : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %365 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %366 = stablehlo.multiply %365, %364 : tensor<2x4x4xcomplex<f64>>
    %367 = stablehlo.add %334, %366 : tensor<2x4x4xcomplex<f64>>
    %368:3 = stablehlo.custom_call @lapack_zheevd_ffi(%367) {mhlo.backend_config = {mode = 86 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2xi32>)
    %369 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %370 = stablehlo.compare EQ, %368#2, %369, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %371 = stablehlo.broadcast_in_dim %370, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %372 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %373 = stablehlo.broadcast_in_dim %371, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %374 = stablehlo.select %373, %368#1, %372 : tensor<2x4xi1>, tensor<2x4xf64>
    %375 = stablehlo.dot_general %351, %352#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %376 = stablehlo.broadcast_in_dim %352#0, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %377 = stablehlo.convert %376 : (tensor<2x1x4xf64>) -> tensor<2x1x4xcomplex<f64>>
    %378 = stablehlo.broadcast_in_dim %377, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %379 = stablehlo.multiply %352#1, %378 : tensor<2x4x4xcomplex<f64>>
    %380 = stablehlo.subtract %375, %379 : tensor<2x4x4xcomplex<f64>>
    %381 = stablehlo.transpose %334, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %382 = stablehlo.real %381 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %383 = stablehlo.imag %381 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %384 = stablehlo.negate %383 : tensor<2x4x4xf64>
    %385 = stablehlo.complex %382, %384 : tensor<2x4x4xcomplex<f64>>
    %386 = stablehlo.dot_general %334, %385, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %387 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %388 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %389 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %390 = stablehlo.add %387, %389 : tensor<4x4xi64>
    %391 = stablehlo.compare EQ, %390, %388, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %392 = stablehlo.convert %391 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f64>>
    %393 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<4x4xcomplex<f64>>
    %394 = stablehlo.multiply %393, %392 : tensor<4x4xcomplex<f64>>
    %395 = stablehlo.broadcast_in_dim %394, dims = [1, 2] : (tensor<4x4xcomplex<f64>>) -> tensor<1x4x4xcomplex<f64>>
    %396 = stablehlo.broadcast_in_dim %395, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %397 = stablehlo.add %386, %396 : tensor<2x4x4xcomplex<f64>>
    %398:2 = call @eigh_8(%397) : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>)
    %399 = stablehlo.sqrt %398#0 : tensor<2x4xf64>
    %400 = stablehlo.broadcast_in_dim %399, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %401 = stablehlo.convert %400 : (tensor<2x1x4xf64>) -> tensor<2x1x4xcomplex<f64>>
    %402 = stablehlo.broadcast_in_dim %401, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %403 = stablehlo.multiply %398#1, %402 : tensor<2x4x4xcomplex<f64>>
    %404 = stablehlo.transpose %398#1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %405 = stablehlo.real %404 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %406 = stablehlo.imag %404 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %407 = stablehlo.negate %406 : tensor<2x4x4xf64>
    %408 = stablehlo.complex %405, %407 : tensor<2x4x4xcomplex<f64>>
    %409 = stablehlo.dot_general %403, %408, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %410 = stablehlo.slice %334 [0:0, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<0x4x4xcomplex<f64>>
    %411 = stablehlo.real %380 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %412 = stablehlo.imag %380 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %413 = stablehlo.real %409 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %414 = stablehlo.imag %409 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %415 = stablehlo.real %410 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %416 = stablehlo.imag %410 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    return %13#0, %40, %24, %35, %60, %61, %80#0, %215, %216, %91, %102, %217, %218, %219, %220, %234#0, %261, %245, %256, %281, %333, %352#0, %411, %412, %363, %374, %413, %414, %415, %416 : tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<0x4x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<0x4x4xf64>, tensor<0x4x4xf64>
  }
  func.func private @eigh(%arg0: tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4x4xf32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf32>
    %4:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%3) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#2, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %14 = stablehlo.select %13, %4#1, %12 : tensor<2x4xi1>, tensor<2x4xf32>
    return %14, %10 : tensor<2x4xf32>, tensor<2x4x4xf32>
  }
  func.func private @tril(%arg0: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %7 = stablehlo.select %5, %arg0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf32>
    return %7 : tensor<2x4x4xf32>
  }
  func.func private @eigh_0(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_1 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf32>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f32>>
    %8:3 = stablehlo.custom_call @lapack_cheevd_ffi(%7) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#2, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %18 = stablehlo.select %17, %8#1, %16 : tensor<2x4xi1>, tensor<2x4xf32>
    return %18, %14 : tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>
  }
  func.func private @tril_1(%arg0: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.select %5, %arg0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    return %7 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @eigh_2(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %cst = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
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
    %8 = stablehlo.transpose %7, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.real %8 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %10 = stablehlo.imag %8 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %11 = stablehlo.negate %10 : tensor<2x4x4xf32>
    %12 = stablehlo.complex %9, %11 : tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.add %7, %12 : tensor<2x4x4xcomplex<f32>>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.divide %13, %14 : tensor<2x4x4xcomplex<f32>>
    %16:3 = stablehlo.custom_call @lapack_cheevd_ffi(%15) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xf32>, tensor<2xi32>)
    %17 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %18 = stablehlo.compare EQ, %16#2, %17, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %21 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %22 = stablehlo.select %21, %16#0, %20 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %23 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %24 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %25 = stablehlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %26 = stablehlo.select %25, %16#1, %24 : tensor<2x4xi1>, tensor<2x4xf32>
    %27 = stablehlo.convert %26 : (tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %28 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %29 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %30 = stablehlo.add %28, %29 : tensor<4x4xi32>
    %31 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %32 = stablehlo.compare EQ, %30, %31, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %33 = stablehlo.convert %32 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %34 = stablehlo.broadcast_in_dim %27, dims = [0, 2] : (tensor<2x4xcomplex<f32>>) -> tensor<2x1x4xcomplex<f32>>
    %35 = stablehlo.broadcast_in_dim %33, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %37 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %38 = stablehlo.add %36, %37 : tensor<2x4x4xcomplex<f32>>
    %39 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2] : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %41 = stablehlo.subtract %38, %40 : tensor<2x4x4xcomplex<f32>>
    %42 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %43 = stablehlo.divide %42, %41 : tensor<2x4x4xcomplex<f32>>
    %44 = stablehlo.broadcast_in_dim %33, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %46 = stablehlo.subtract %43, %45 : tensor<2x4x4xcomplex<f32>>
    %47 = stablehlo.transpose %22, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %48 = stablehlo.real %47 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %49 = stablehlo.imag %47 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %50 = stablehlo.negate %49 : tensor<2x4x4xf32>
    %51 = stablehlo.complex %48, %50 : tensor<2x4x4xcomplex<f32>>
    %52 = stablehlo.iota dim = 0 : tensor<4xi32>
    %53 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %54 = stablehlo.compare LT, %52, %53, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %55 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %56 = stablehlo.add %52, %55 : tensor<4xi32>
    %57 = stablehlo.select %54, %56, %52 : tensor<4xi1>, tensor<4xi32>
    %58 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %59 = stablehlo.compare LT, %52, %58, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %60 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %61 = stablehlo.add %52, %60 : tensor<4xi32>
    %62 = stablehlo.select %59, %61, %52 : tensor<4xi1>, tensor<4xi32>
    %63 = stablehlo.broadcast_in_dim %57, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %64 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %65 = stablehlo.concatenate %63, %64, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    return %26, %22, %51, %46, %65 : tensor<2x4xf32>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<4x2xi32>
  }
  func.func private @eigh_3(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<2x4x4xcomplex<f32>>, %arg3: tensor<4x2xi32>, %arg4: tensor<2x4xf32>, %arg5: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %1 = "stablehlo.scatter"(%0, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %19 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %19 : tensor<f32>
    }) : (tensor<2x4x4xf32>, tensor<4x2xi32>, tensor<2x4xf32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %3 = stablehlo.complex %1, %2 : tensor<2x4x4xcomplex<f32>>
    %4 = stablehlo.dot_general %arg5, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.transpose %4, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.multiply %arg2, %5 : tensor<2x4x4xcomplex<f32>>
    %7 = stablehlo.add %3, %6 : tensor<2x4x4xcomplex<f32>>
    %8 = stablehlo.dot_general %7, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.dot_general %8, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %10 = stablehlo.transpose %9, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %12 = stablehlo.divide %10, %11 : tensor<2x4x4xcomplex<f32>>
    %13 = stablehlo.real %12 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %14 = stablehlo.imag %12 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %15 = stablehlo.negate %14 : tensor<2x4x4xf32>
    %16 = stablehlo.complex %13, %15 : tensor<2x4x4xcomplex<f32>>
    %17 = stablehlo.transpose %16, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %18 = stablehlo.add %12, %17 : tensor<2x4x4xcomplex<f32>>
    return %18 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @eigh_4(%arg0: tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf64>
    %4:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%3) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2xi32>)
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %6 = stablehlo.compare EQ, %4#2, %5, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %11 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %14 = stablehlo.select %13, %4#1, %12 : tensor<2x4xi1>, tensor<2x4xf64>
    return %14, %10 : tensor<2x4xf64>, tensor<2x4x4xf64>
  }
  func.func private @tril_5(%arg0: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.select %5, %arg0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    return %7 : tensor<2x4x4xf64>
  }
  func.func private @eigh_6(%arg0: tensor<2x4x4xf64>) -> (tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>) {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.add %arg0, %0 : tensor<2x4x4xf64>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x4xf64>
    %4 = stablehlo.transpose %3, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %5 = stablehlo.add %3, %4 : tensor<2x4x4xf64>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xf64>
    %8:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%7) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#2, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %15 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %18 = stablehlo.select %17, %8#1, %16 : tensor<2x4xi1>, tensor<2x4xf64>
    %19 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %20 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %21 = stablehlo.add %19, %20 : tensor<4x4xi32>
    %22 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %23 = stablehlo.compare EQ, %21, %22, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %24 = stablehlo.convert %23 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %25 = stablehlo.broadcast_in_dim %18, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %26 = stablehlo.broadcast_in_dim %24, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %28 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<2x1x4xf64>) -> tensor<2x4x4xf64>
    %29 = stablehlo.add %27, %28 : tensor<2x4x4xf64>
    %30 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<2x4xf64>) -> tensor<2x4x1xf64>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<2x4x1xf64>) -> tensor<2x4x4xf64>
    %32 = stablehlo.subtract %29, %31 : tensor<2x4x4xf64>
    %33 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %34 = stablehlo.divide %33, %32 : tensor<2x4x4xf64>
    %35 = stablehlo.broadcast_in_dim %24, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %37 = stablehlo.subtract %34, %36 : tensor<2x4x4xf64>
    %38 = stablehlo.transpose %14, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %39 = stablehlo.iota dim = 0 : tensor<4xi32>
    %40 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %41 = stablehlo.compare LT, %39, %40, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %42 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %43 = stablehlo.add %39, %42 : tensor<4xi32>
    %44 = stablehlo.select %41, %43, %39 : tensor<4xi1>, tensor<4xi32>
    %45 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %46 = stablehlo.compare LT, %39, %45, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %47 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %48 = stablehlo.add %39, %47 : tensor<4xi32>
    %49 = stablehlo.select %46, %48, %39 : tensor<4xi1>, tensor<4xi32>
    %50 = stablehlo.broadcast_in_dim %44, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %51 = stablehlo.broadcast_in_dim %49, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %52 = stablehlo.concatenate %50, %51, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    return %18, %14, %38, %37, %52 : tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<4x2xi32>
  }
  func.func private @eigh_7(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<2x4x4xf64>, %arg3: tensor<4x2xi32>, %arg4: tensor<2x4xf64>, %arg5: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %1 = "stablehlo.scatter"(%0, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>}> ({
    ^bb0(%arg6: tensor<f64>, %arg7: tensor<f64>):
      %13 = stablehlo.add %arg6, %arg7 : tensor<f64>
      stablehlo.return %13 : tensor<f64>
    }) : (tensor<2x4x4xf64>, tensor<4x2xi32>, tensor<2x4xf64>) -> tensor<2x4x4xf64>
    %2 = stablehlo.dot_general %arg5, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %4 = stablehlo.multiply %arg2, %3 : tensor<2x4x4xf64>
    %5 = stablehlo.add %1, %4 : tensor<2x4x4xf64>
    %6 = stablehlo.dot_general %5, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.dot_general %6, %arg0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %8 = stablehlo.transpose %7, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %10 = stablehlo.divide %8, %9 : tensor<2x4x4xf64>
    %11 = stablehlo.transpose %10, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %12 = stablehlo.add %10, %11 : tensor<2x4x4xf64>
    return %12 : tensor<2x4x4xf64>
  }
  func.func private @eigh_8(%arg0: tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_1 = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %1 = stablehlo.real %0 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %2 = stablehlo.imag %0 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %3 = stablehlo.negate %2 : tensor<2x4x4xf64>
    %4 = stablehlo.complex %1, %3 : tensor<2x4x4xcomplex<f64>>
    %5 = stablehlo.add %arg0, %4 : tensor<2x4x4xcomplex<f64>>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.divide %5, %6 : tensor<2x4x4xcomplex<f64>>
    %8:3 = stablehlo.custom_call @lapack_zheevd_ffi(%7) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4x4xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4xf64>, tensor<2xi32>)
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %10 = stablehlo.compare EQ, %8#2, %9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %15 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %18 = stablehlo.select %17, %8#1, %16 : tensor<2x4xi1>, tensor<2x4xf64>
    return %18, %14 : tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>
  }
  func.func private @tril_9(%arg0: tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x4xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %7 = stablehlo.select %5, %arg0, %6 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    return %7 : tensor<2x4x4xcomplex<f64>>
  }
}
