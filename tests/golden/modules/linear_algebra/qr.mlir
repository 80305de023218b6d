module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x3xf32> {jax.result_info = "result[0]"}, tensor<2x3x3xf32> {jax.result_info = "result[1]"}, tensor<2x3x3xf32> {jax.result_info = "result[2]"}, tensor<2x4x4xf32> {jax.result_info = "result[3]"}, tensor<0x4x4xf32> {jax.result_info = "result[4]"}, tensor<2x4x4xf32> {jax.result_info = "result[5]"}, tensor<2x4x4xf32> {jax.result_info = "result[6]"}, tensor<2x4x3xf32> {jax.result_info = "result[7]"}, tensor<2x4x3xf32> {jax.result_info = "result[8]"}, tensor<2x3x3xf32> {jax.result_info = "result[9]"}, tensor<2x3x3xf32> {jax.result_info = "result[10]"}, tensor<2x3x3xf32> {jax.result_info = "result[11]"}, tensor<2x4x4xf32> {jax.result_info = "result[12]"}, tensor<2x4x4xf32> {jax.result_info = "result[13]"}, tensor<2x4x4xf32> {jax.result_info = "result[14]"}, tensor<2x4x4xf32> {jax.result_info = "result[15]"}, tensor<2x4x4xf32> {jax.result_info = "result[16]"}, tensor<2x4x4xf32> {jax.result_info = "result[17]"}, tensor<2x4x4xf32> {jax.result_info = "result[18]"}, tensor<2x4x4xf32> {jax.result_info = "result[19]"}, tensor<2x4x3xf64> {jax.result_info = "result[20]"}, tensor<2x3x3xf64> {jax.result_info = "result[21]"}, tensor<2x3x3xf64> {jax.result_info = "result[22]"}, tensor<2x4x4xf64> {jax.result_info = "result[23]"}, tensor<2x4x4xf64> {jax.result_info = "result[24]"}, tensor<2x4x4xf64> {jax.result_info = "result[25]"}, tensor<2x4x4xf64> {jax.result_info = "result[26]"}, tensor<2x4x3xf64> {jax.result_info = "result[27]"}, tensor<2x4x3xf64> {jax.result_info = "result[28]"}, tensor<2x3x3xf64> {jax.result_info = "result[29]"}, tensor<2x3x3xf64> {jax.result_info = "result[30]"}, tensor<2x3x3xf64> {jax.result_info = "result[31]"}, tensor<2x4x4xf64> {jax.result_info = "result[32]"}, tensor<2x4x4xf64> {jax.result_info = "result[33]"}, tensor<0x4x4xf64> {jax.result_info = "result[34]"}, tensor<0x4x4xf64> {jax.result_info = "result[35]"}, tensor<2x4x4xf64> {jax.result_info = "result[36]"}, tensor<2x4x4xf64> {jax.result_info = "result[37]"}, tensor<2x4x4xf64> {jax.result_info = "result[38]"}, tensor<2x4x4xf64> {jax.result_info = "result[39]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_7 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_8 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0:2 = call @qr(%arg2) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3x3xf32>)
    %1:2 = call @qr_0(%arg2) : (tensor<2x4x3xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x3xf32>)
    %2:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%arg2) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)
    %3 = stablehlo.dot_general %0#0, %0#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x3xf32>) -> tensor<2x4x3xf32>
    %4 = stablehlo.transpose %0#0, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %5 = stablehlo.dot_general %4, %0#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
    %6 = stablehlo.abs %0#1 : tensor<2x3x3xf32>
    %7 = stablehlo.transpose %1#0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %8 = stablehlo.dot_general %7, %1#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %9 = stablehlo.slice %arg0 [0:0, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<0x4x4xf32>
    %10 = stablehlo.custom_call @lapack_sormqr_ffi(%2#0, %2#1, %arg0) {mhlo.backend_config = {left = true, transpose = true}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %11 = stablehlo.transpose %1#0, dims = [0, 2, 1] : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %12 = stablehlo.dot_general %11, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %13 = stablehlo.subtract %10, %12 : tensor<2x4x4xf32>
    %14 = stablehlo.custom_call @lapack_sormqr_ffi(%2#0, %2#1, %arg0) {mhlo.backend_config = {left = false, transpose = false}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %15 = stablehlo.dot_general %arg0, %1#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %16 = stablehlo.subtract %14, %15 : tensor<2x4x4xf32>
    %17 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %18 = stablehlo.complex %arg2, %arg3 : tensor<2x4x3xcomplex<f32>>
    %19:2 = call @qr_1(%18) : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>)
    %20:2 = call @qr_2(%18) : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>)
    %21:2 = stablehlo.custom_call @lapack_cgeqrf_ffi(%18) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>)
    %22 = stablehlo.dot_general %19#0, %19#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %23 = stablehlo.transpose %19#0, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x4xcomplex<f32>>
    %24 = stablehlo.real %23 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %25 = stablehlo.imag %23 : (tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x4xf32>
    %26 = stablehlo.negate %25 : tensor<2x3x4xf32>
    %27 = stablehlo.complex %24, %26 : tensor<2x3x4xcomplex<f32>>
    %28 = stablehlo.dot_general %27, %19#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %29 = stablehlo.abs %19#1 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %30 = stablehlo.transpose %20#0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %31 = stablehlo.real %30 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %32 = stablehlo.imag %30 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %33 = stablehlo.negate %32 : tensor<2x4x4xf32>
    %34 = stablehlo.complex %31, %33 : tensor<2x4x4xcomplex<f32>>
    %35 = stablehlo.dot_general %34, %20#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %36 = stablehlo.transpose %17, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %37 = stablehlo.real %36 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %38 = stablehlo.imag %36 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %39 = stablehlo.negate %38 : tensor<2x4x4xf32>
    %40 = stablehlo.complex %37, %39 : tensor<2x4x4xcomplex<f32>>
    %41 = stablehlo.dot_general %17, %40, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %42 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %43 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %44 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %45 = stablehlo.add %42, %44 : tensor<4x4xi64>
    %46 = stablehlo.compare EQ, %45, %43, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %47 = stablehlo.convert %46 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %48 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<complex<f32>>) -> tensor<4x4xcomplex<f32>>
    %49 = stablehlo.multiply %48, %47 : tensor<4x4xcomplex<f32>>
    %50 = stablehlo.broadcast_in_dim %49, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %52 = stablehlo.add %41, %51 : tensor<2x4x4xcomplex<f32>>
    %53:6 = call @qr_3(%52) : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>)
    %54 = stablehlo.abs %53#1 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %55 = stablehlo.real %53#1 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %56 = stablehlo.imag %53#1 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %57 = stablehlo.negate %56 : tensor<2x4x4xf32>
    %58 = stablehlo.complex %55, %57 : tensor<2x4x4xcomplex<f32>>
    %59 = stablehlo.convert %54 : (tensor<2x4x4xf32>) -> tensor<2x4x4xcomplex<f32>>
    %60 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %61 = stablehlo.compare EQ, %59, %60, FLOAT : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xi1>
    %62 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %63 = stablehlo.select %61, %62, %59 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %64 = stablehlo.divide %58, %63 : tensor<2x4x4xcomplex<f32>>
    %65 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %66 = stablehlo.multiply %65, %54 : tensor<2x4x4xf32>
    %67 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %68 = stablehlo.multiply %67, %66 : tensor<2x4x4xf32>
    %69 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %70 = stablehlo.complex %68, %69 : tensor<2x4x4xcomplex<f32>>
    %71 = stablehlo.multiply %70, %64 : tensor<2x4x4xcomplex<f32>>
    %72 = call @qr_4(%53#1, %53#2, %53#3, %53#4, %53#5, %71) : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %73 = stablehlo.dot_general %72, %17, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %74 = stablehlo.transpose %73, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %75 = stablehlo.dot_general %72, %40, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %76 = stablehlo.real %74 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %77 = stablehlo.imag %74 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %78 = stablehlo.negate %77 : tensor<2x4x4xf32>
    %79 = stablehlo.complex %76, %78 : tensor<2x4x4xcomplex<f32>>
    %80 = stablehlo.transpose %79, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %81 = stablehlo.add %75, %80 : tensor<2x4x4xcomplex<f32>>
    %82 = stablehlo.custom_call @lapack_cunmqr_ffi(%21#0, %21#1, %17) {mhlo.backend_config = {left = true, transpose = true}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %83 = stablehlo.transpose %20#0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %84 = stablehlo.real %83 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %85 = stablehlo.imag %83 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %86 = stablehlo.negate %85 : tensor<2x4x4xf32>
    %87 = stablehlo.complex %84, %86 : tensor<2x4x4xcomplex<f32>>
    %88 = stablehlo.dot_general %87, %17, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %89 = stablehlo.subtract %82, %88 : tensor<2x4x4xcomplex<f32>>
    %90 = stablehlo.custom_call @lapack_cunmqr_ffi(%21#0, %21#1, %17) {mhlo.backend_config = {left = false, transpose = false}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %91 = stablehlo.dot_general %17, %20#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %92 = stablehlo.subtract %90, %91 : tensor<2x4x4xcomplex<f32>>
    %93 = stablehlo.real %22 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %94 = stablehlo.imag %22 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %95 = stablehlo.real %28 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %96 = stablehlo.imag %28 : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>
    %97 = stablehlo.real %35 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %98 = stablehlo.imag %35 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %99 = stablehlo.real %81 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %100 = stablehlo.imag %81 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %101 = stablehlo.real %89 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %102 = stablehlo.imag %89 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %103 = stablehlo.real %92 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %104 = stablehlo.imag %92 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %105:2 = call @qr_5(%arg6) : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3x3xf64>)
    %106:2 = call @qr_6(%arg6) : (tensor<2x4x3xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x3xf64>)
    %107:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%arg6) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>)
    %108 = stablehlo.dot_general %105#0, %105#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf64>, tensor<2x3x3xf64>) -> tensor<2x4x3xf64>
    %109 = stablehlo.transpose %105#0, dims = [0, 2, 1] : (tensor<2x4x3xf64>) -> tensor<2x3x4xf64>
    %110 = stablehlo.dot_general %109, %105#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf64>, tensor<2x4x3xf64>) -> tensor<2x3x3xf64>
    %111 = stablehlo.abs %105#1 : tensor<2x3x3xf64>
    %112 = stablehlo.transpose %106#0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %113 = stablehlo.dot_general %112, %106#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %114 = stablehlo.transpose %arg4, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %115 = stablehlo.dot_general %arg4, %114, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %116 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %117 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %118 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %119 = stablehlo.add %116, %118 : tensor<4x4xi64>
    %120 = stablehlo.compare EQ, %119, %117, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %121 = stablehlo.convert %120 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %122 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<4x4xf64>
    %123 = stablehlo.multiply %122, %121 : tensor<4x4xf64>
    %124 = stablehlo.broadcast_in_dim %123, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    %125 = stablehlo.broadcast_in_dim %124, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %126 = stablehlo.add %115, %125 : tensor<2x4x4xf64>
    %127:6 = call @qr_7(%126) : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>)
    %128 = stablehlo.abs %127#1 : tensor<2x4x4xf64>
    %129 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %130 = stablehlo.compare GE, %127#1, %129, FLOAT : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xi1>
    %131 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %132 = stablehlo.multiply %131, %128 : tensor<2x4x4xf64>
    %133 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %134 = stablehlo.multiply %133, %132 : tensor<2x4x4xf64>
    %135 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %136 = stablehlo.select %130, %135, %134 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %137 = stablehlo.select %130, %134, %135 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %138 = stablehlo.negate %136 : tensor<2x4x4xf64>
    %139 = stablehlo.add %137, %138 : tensor<2x4x4xf64>
    %140 = call @qr_8(%127#1, %127#2, %127#3, %127#4, %127#5, %139) : (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %141 = stablehlo.dot_general %140, %arg4, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %142 = stablehlo.transpose %141, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %143 = stablehlo.dot_general %140, %114, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %144 = stablehlo.transpose %142, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %145 = stablehlo.add %143, %144 : tensor<2x4x4xf64>
    %146 = stablehlo.custom_call @lapack_dormqr_ffi(%107#0, %107#1, %arg4) {mhlo.backend_config = {left = true, transpose = true}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %147 = stablehlo.transpose %106#0, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %148 = stablehlo.dot_general %147, %arg4, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %149 = stablehlo.subtract %146, %148 : tensor<2x4x4xf64>
    %150 = stablehlo.custom_call @lapack_dormqr_ffi(%107#0, %107#1, %arg4) {mhlo.backend_config = {left = false, transpose = false}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xf64>, tensor<2x3xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %151 = stablehlo.dot_general %arg4, %106#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %152 = stablehlo.subtract %150, %151 : tensor<2x4x4xf64>
    %153 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %154 = stablehlo.complex %arg6, %arg7 : tensor<2x4x3xcomplex<f64>>
    %155:2 = call @qr_9(%154) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>)
    %156:2 = call @qr_10(%154) : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>)
    %157:2 = stablehlo.custom_call @lapack_zgeqrf_ffi(%154) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>)
    %158 = stablehlo.dot_general %155#0, %155#1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %159 = stablehlo.transpose %155#0, dims = [0, 2, 1] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x4xcomplex<f64>>
    %160 = stablehlo.real %159 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %161 = stablehlo.imag %159 : (tensor<2x3x4xcomplex<f64>>) -> tensor<2x3x4xf64>
    %162 = stablehlo.negate %161 : tensor<2x3x4xf64>
    %163 = stablehlo.complex %160, %162 : tensor<2x3x4xcomplex<f64>>
    %164 = stablehlo.dot_general %163, %155#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %165 = stablehlo.abs %155#1 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %166 = stablehlo.transpose %156#0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %167 = stablehlo.real %166 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %168 = stablehlo.imag %166 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %169 = stablehlo.negate %168 : tensor<2x4x4xf64>
    %170 = stablehlo.complex %167, %169 : tensor<2x4x4xcomplex<f64>>
    %171 = stablehlo.dot_general %170, %156#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %172 = stablehlo.slice %153 [0:0, 0:4, 0:4] : (tensor<2x4x4xcomplex<f64>>) -> tensor<0x4x4xcomplex<f64>>
    %173 = stablehlo.custom_call @lapack_zunmqr_ffi(%157#0, %157#1, %153) {mhlo.backend_config = {left = true, transpose = true}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %174 = stablehlo.transpose %156#0, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %175 = stablehlo.real %174 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %176 = stablehlo.imag %174 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %177 = stablehlo.negate %176 : tensor<2x4x4xf64>
    %178 = stablehlo.complex %175, %177 : tensor<2x4x4xcomplex<f64>>
    %179 = stablehlo.dot_general %178, %153, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %180 = stablehlo.subtract %173, %179 : tensor<2x4x4xcomplex<f64>>
    %181 = stablehlo.custom_call @lapack_zunmqr_ffi(%157#0, %157#1, %153) {mhlo.backend_config = {left = false, transpose = false}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %182 = stablehlo.dot_general %153, %156#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %183 = stablehlo.subtract %181, %182 : tensor<2x4x4xcomplex<f64>>
    %184 = stablehlo.real %158 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %185 = stablehlo.imag %158 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %186 = stablehlo.real %164 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %187 = stablehlo.imag %164 : (tensor<2x3x3xcomplex<f64>>) -> tensor<2x3x3xf64>
    %188 = stablehlo.real %171 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %189 = stablehlo.imag %171 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %190 = stablehlo.real %172 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %191 = stablehlo.imag %172 : (tensor<0x4x4xcomplex<f64>>) -> tensor<0x4x4xf64>
    %192 = stablehlo.real %180 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %193 = stablehlo.imag %180 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %194 = stablehlo.real %183 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %195 = stablehlo.imag %183 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    return %3, %5, %6, %8, %9, %13, %16, %93, %94, %95, %96, %29, %97, %98, %99, %100, %101, %102, %103, %104, %108, %110, %111, %113, %145, %149, %152, %184, %185, %186, %187, %165, %188, %189, %190, %191, %192, %193, %194, %195 : tensor<2x4x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<2x4x4xf32>, tensor<0x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2x3x3xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x3x3xf64>, tensor<2x3x3xf64>, tensor<2x3x3xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<0x4x4xf64>, tensor<0x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>
  }
  func.func private @qr(%arg0: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3x3xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)
    %1 = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xf32>, tensor<2x3xf32>) -> tensor<2x4x3xf32>
    %2 = stablehlo.slice %0#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
    %3 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<3x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x3xf32>
    %10 = stablehlo.select %8, %9, %2 : tensor<2x3x3xi1>, tensor<2x3x3xf32>
    return %1, %10 : tensor<2x4x3xf32>, tensor<2x3x3xf32>
  }
  func.func private @qr_0(%arg0: tensor<2x4x3xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x3xf32>) {
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)
    %1 = stablehlo.pad %0#0, %cst, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x4xf32>
    %2 = stablehlo.custom_call @lapack_sorgqr_ffi(%1, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf32>, tensor<2x3xf32>) -> tensor<2x4x4xf32>
    %3 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<4x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %10 = stablehlo.select %8, %9, %0#0 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    return %2, %10 : tensor<2x4x4xf32>, tensor<2x4x3xf32>
  }
  func.func private @qr_1(%arg0: tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0:2 = stablehlo.custom_call @lapack_cgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>)
    %1 = stablehlo.custom_call @lapack_cungqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %2 = stablehlo.slice %0#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %3 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<3x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x3x3xcomplex<f32>>
    %10 = stablehlo.select %8, %9, %2 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f32>>
    return %1, %10 : tensor<2x4x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>
  }
  func.func private @qr_2(%arg0: tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) {
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0:2 = stablehlo.custom_call @lapack_cgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>)
    %1 = stablehlo.pad %0#0, %cst, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<2x4x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %2 = stablehlo.custom_call @lapack_cungqr_ffi(%1, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x3xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %3 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<4x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %10 = stablehlo.select %8, %9, %0#0 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    return %2, %10 : tensor<2x4x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>
  }
  func.func private @qr_3(%arg0: tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c_0 = stablehlo.constant dense<-1> : tensor<i64>
    %0:2 = stablehlo.custom_call @lapack_cgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x4xcomplex<f32>>) -> (tensor<2x4x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>)
    %1 = stablehlo.custom_call @lapack_cungqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %4 = stablehlo.add %2, %3 : tensor<4x4xi64>
    %5 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %6 = stablehlo.compare GE, %4, %5, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %9 = stablehlo.select %7, %8, %0#0 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %10 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %11 = stablehlo.real %10 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %12 = stablehlo.imag %10 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %13 = stablehlo.negate %12 : tensor<2x4x4xf32>
    %14 = stablehlo.complex %11, %13 : tensor<2x4x4xcomplex<f32>>
    %15 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %16 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %17 = stablehlo.add %15, %16 : tensor<4x4xi64>
    %18 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %19 = stablehlo.compare GE, %17, %18, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %22 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %23 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %24 = stablehlo.add %22, %23 : tensor<4x4xi32>
    %25 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %26 = stablehlo.compare EQ, %24, %25, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %27 = stablehlo.convert %26 : (tensor<4x4xi1>) -> tensor<4x4xcomplex<f32>>
    %28 = stablehlo.broadcast_in_dim %27, dims = [1, 2] : (tensor<4x4xcomplex<f32>>) -> tensor<1x4x4xcomplex<f32>>
    return %1, %9, %14, %20, %21, %28 : tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>, tensor<1x4x4xcomplex<f32>>
  }
  func.func private @qr_4(%arg0: tensor<2x4x4xcomplex<f32>>, %arg1: tensor<2x4x4xcomplex<f32>>, %arg2: tensor<2x4x4xi1>, %arg3: tensor<2x4x4xcomplex<f32>>, %arg4: tensor<1x4x4xcomplex<f32>>, %arg5: tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg5, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %1 = stablehlo.negate %0 : tensor<2x4x4xcomplex<f32>>
    %2 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1, 2] : (tensor<1x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %3 = stablehlo.multiply %2, %1 : tensor<2x4x4xcomplex<f32>>
    %4 = stablehlo.negate %3 : tensor<2x4x4xcomplex<f32>>
    %5 = stablehlo.add %0, %3 : tensor<2x4x4xcomplex<f32>>
    %6 = stablehlo.real %4 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %7 = stablehlo.convert %6 : tensor<2x4x4xf32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
    %9 = stablehlo.complex %7, %8 : tensor<2x4x4xcomplex<f32>>
    %10 = stablehlo.add %5, %9 : tensor<2x4x4xcomplex<f32>>
    %11 = stablehlo.negate %1 : tensor<2x4x4xcomplex<f32>>
    %12 = stablehlo.real %11 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %13 = stablehlo.imag %11 : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xf32>
    %14 = stablehlo.negate %13 : tensor<2x4x4xf32>
    %15 = stablehlo.complex %12, %14 : tensor<2x4x4xcomplex<f32>>
    %16 = stablehlo.transpose %15, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %17 = stablehlo.add %1, %16 : tensor<2x4x4xcomplex<f32>>
    %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %19 = stablehlo.select %arg2, %17, %18 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f32>>
    %20 = stablehlo.add %10, %19 : tensor<2x4x4xcomplex<f32>>
    %21 = stablehlo.dot_general %20, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %22 = stablehlo.transpose %21, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    %23 = stablehlo.custom_call @lapack_ctrsm_ffi(%arg0, %22) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f32>>, tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x4xcomplex<f32>>
    return %23 : tensor<2x4x4xcomplex<f32>>
  }
  func.func private @qr_5(%arg0: tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3x3xf64>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>)
    %1 = stablehlo.custom_call @lapack_dorgqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xf64>, tensor<2x3xf64>) -> tensor<2x4x3xf64>
    %2 = stablehlo.slice %0#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xf64>) -> tensor<2x3x3xf64>
    %3 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<3x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x3x3xf64>
    %10 = stablehlo.select %8, %9, %2 : tensor<2x3x3xi1>, tensor<2x3x3xf64>
    return %1, %10 : tensor<2x4x3xf64>, tensor<2x3x3xf64>
  }
  func.func private @qr_6(%arg0: tensor<2x4x3xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x3xf64>) {
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>)
    %1 = stablehlo.pad %0#0, %cst, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<2x4x3xf64>, tensor<f64>) -> tensor<2x4x4xf64>
    %2 = stablehlo.custom_call @lapack_dorgqr_ffi(%1, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x3xf64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<4x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %10 = stablehlo.select %8, %9, %0#0 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    return %2, %10 : tensor<2x4x4xf64>, tensor<2x4x3xf64>
  }
  func.func private @qr_7(%arg0: tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_0 = stablehlo.constant dense<-1> : tensor<i64>
    %0:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<2x4xf64>)
    %1 = stablehlo.custom_call @lapack_dorgqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4xf64>) -> tensor<2x4x4xf64>
    %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %4 = stablehlo.add %2, %3 : tensor<4x4xi64>
    %5 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %6 = stablehlo.compare GE, %4, %5, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.select %7, %8, %0#0 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %10 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %11 = stablehlo.iota dim = 0 : tensor<4x4xi64>
    %12 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
    %13 = stablehlo.add %11, %12 : tensor<4x4xi64>
    %14 = stablehlo.iota dim = 1 : tensor<4x4xi64>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %18 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %19 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %20 = stablehlo.add %18, %19 : tensor<4x4xi32>
    %21 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %22 = stablehlo.compare EQ, %20, %21, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %23 = stablehlo.convert %22 : (tensor<4x4xi1>) -> tensor<4x4xf64>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1, 2] : (tensor<4x4xf64>) -> tensor<1x4x4xf64>
    return %1, %9, %10, %16, %17, %24 : tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xf64>, tensor<2x4x4xi1>, tensor<2x4x4xf64>, tensor<1x4x4xf64>
  }
  func.func private @qr_8(%arg0: tensor<2x4x4xf64>, %arg1: tensor<2x4x4xf64>, %arg2: tensor<2x4x4xi1>, %arg3: tensor<2x4x4xf64>, %arg4: tensor<1x4x4xf64>, %arg5: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.dot_general %arg5, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %1 = stablehlo.negate %0 : tensor<2x4x4xf64>
    %2 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1, 2] : (tensor<1x4x4xf64>) -> tensor<2x4x4xf64>
    %3 = stablehlo.multiply %2, %1 : tensor<2x4x4xf64>
    %4 = stablehlo.negate %3 : tensor<2x4x4xf64>
    %5 = stablehlo.add %0, %3 : tensor<2x4x4xf64>
    %6 = stablehlo.add %5, %4 : tensor<2x4x4xf64>
    %7 = stablehlo.negate %1 : tensor<2x4x4xf64>
    %8 = stablehlo.transpose %7, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %9 = stablehlo.add %1, %8 : tensor<2x4x4xf64>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4xf64>
    %11 = stablehlo.select %arg2, %9, %10 : tensor<2x4x4xi1>, tensor<2x4x4xf64>
    %12 = stablehlo.add %6, %11 : tensor<2x4x4xf64>
    %13 = stablehlo.dot_general %12, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %14 = stablehlo.transpose %13, dims = [0, 2, 1] : (tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    %15 = stablehlo.custom_call @lapack_dtrsm_ffi(%arg0, %14) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xf64>, tensor<2x4x4xf64>) -> tensor<2x4x4xf64>
    return %15 : tensor<2x4x4xf64>
  }
  func.func private @qr_9(%arg0: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %0:2 = stablehlo.custom_call @lapack_zgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>)
    %1 = stablehlo.custom_call @lapack_zungqr_ffi(%0#0, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %2 = stablehlo.slice %0#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %3 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<3x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<3x3xi1>) -> tensor<2x3x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x3x3xcomplex<f64>>
    %10 = stablehlo.select %8, %9, %2 : tensor<2x3x3xi1>, tensor<2x3x3xcomplex<f64>>
    return %1, %10 : tensor<2x4x3xcomplex<f64>>, tensor<2x3x3xcomplex<f64>>
  }
  func.func private @qr_10(%arg0: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) {
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %0:2 = stablehlo.custom_call @lapack_zgeqrf_ffi(%arg0) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>)
    %1 = stablehlo.pad %0#0, %cst, low = [0, 0, 0], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<2x4x3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %2 = stablehlo.custom_call @lapack_zungqr_ffi(%1, %0#1) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]} : (tensor<2x4x4xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %3 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
    %5 = stablehlo.add %3, %4 : tensor<4x3xi64>
    %6 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<4x3xi1>) -> tensor<2x4x3xi1>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %10 = stablehlo.select %8, %9, %0#0 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    return %2, %10 : tensor<2x4x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>
  }
}
