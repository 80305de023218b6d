module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<4x3xf32> {jax.result_info = "result[0]"}, tensor<3xi32> {jax.result_info = "result[1]"}, tensor<3xf32> {jax.result_info = "result[2]"}, tensor<4x3xf32> {jax.result_info = "result[3]"}, tensor<4x3xf32> {jax.result_info = "result[4]"}, tensor<3xi32> {jax.result_info = "result[5]"}, tensor<3xf32> {jax.result_info = "result[6]"}, tensor<4x3xf64> {jax.result_info = "result[7]"}, tensor<3xi32> {jax.result_info = "result[8]"}, tensor<3xf64> {jax.result_info = "result[9]"}, tensor<4x3xf64> {jax.result_info = "result[10]"}, tensor<4x3xf64> {jax.result_info = "result[11]"}, tensor<3xi32> {jax.result_info = "result[12]"}, tensor<3xf64> {jax.result_info = "result[13]"}) {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %arg2 [0:1, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
    %2:3 = call @_qr(%1) : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xi32>)
    %3 = stablehlo.dot_general %2#0, %2#1, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.slice %arg2 [0:1, 0:4, 0:3] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
    %6 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %7 = stablehlo.compare LT, %2#2, %6, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %9 = stablehlo.add %2#2, %8 : tensor<3xi32>
    %10 = stablehlo.select %7, %9, %2#2 : tensor<3xi1>, tensor<3xi32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %12 = "stablehlo.gather"(%5, %11) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x3xf32>, tensor<3x1xi32>) -> tensor<4x3xf32>
    %13 = stablehlo.subtract %3, %12 : tensor<4x3xf32>
    %14 = call @_diag(%2#1) : (tensor<3x3xf32>) -> tensor<3xf32>
    %15 = stablehlo.abs %14 : tensor<3xf32>
    %16 = stablehlo.complex %arg2, %arg3 : tensor<2x4x3xcomplex<f32>>
    %17 = stablehlo.slice %16 [0:1, 0:4, 0:3] : (tensor<2x4x3xcomplex<f32>>) -> tensor<1x4x3xcomplex<f32>>
    %18 = stablehlo.reshape %17 : (tensor<1x4x3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
    %19:3 = call @_qr_0(%18) : (tensor<4x3xcomplex<f32>>) -> (tensor<4x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>, tensor<3xi32>)
    %20 = stablehlo.dot_general %19#0, %19#1, contracting_dims = [1] x [0] : (tensor<4x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
    %21 = stablehlo.slice %16 [0:1, 0:4, 0:3] : (tensor<2x4x3xcomplex<f32>>) -> tensor<1x4x3xcomplex<f32>>
    %22 = stablehlo.reshape %21 : (tensor<1x4x3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
    %23 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %24 = stablehlo.compare LT, %19#2, %23, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %26 = stablehlo.add %19#2, %25 : tensor<3xi32>
    %27 = stablehlo.select %24, %26, %19#2 : tensor<3xi1>, tensor<3xi32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %29 = "stablehlo.gather"(%22, %28) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x3xcomplex<f32>>, tensor<3x1xi32>) -> tensor<4x3xcomplex<f32>>
    %30 = stablehlo.subtract %20, %29 : tensor<4x3xcomplex<f32>>
    %31 = call @_diag_1(%19#1) : (tensor<3x3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    %32 = stablehlo.abs %31 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %33 = stablehlo.real %30 : (tensor<4x3xcomplex<f32>>) -> tensor<4x3xf32>
    %34 = stablehlo.imag %30 : (tensor<4x3xcomplex<f32>>) -> tensor<4x3xf32>
    %35 = stablehlo.slice %arg6 [0:1, 0:4, 0:3] : (tensor<2x4x3xf64>) -> tensor<1x4x3xf64>
    %36 = stablehlo.reshape %35 : (tensor<1x4x3xf64>) -> tensor<4x3xf64>
    %37:3 = call @_qr_3(%36) : (tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3x3xf64>, tensor<3xi32>)
    %38 = stablehlo.dot_general %37#0, %37#1, contracting_dims = [1] x [0] : (tensor<4x3xf64>, tensor<3x3xf64>) -> tensor<4x3xf64>
    %39 = stablehlo.slice %arg6 [0:1, 0:4, 0:3] : (tensor<2x4x3xf64>) -> tensor<1x4x3xf64>
    %40 = stablehlo.reshape %39 : (tensor<1x4x3xf64>) -> tensor<4x3xf64>
    %41 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %42 = stablehlo.compare LT, %37#2, %41, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %43 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %44 = stablehlo.add %37#2, %43 : tensor<3xi32>
    %45 = stablehlo.select %42, %44, %37#2 : tensor<3xi1>, tensor<3xi32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %47 = "stablehlo.gather"(%40, %46) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x3xf64>, tensor<3x1xi32>) -> tensor<4x3xf64>
    %48 = stablehlo.subtract %38, %47 : tensor<4x3xf64>
    %49 = call @_diag_4(%37#1) : (tensor<3x3xf64>) -> tensor<3xf64>
    %50 = stablehlo.abs %49 : tensor<3xf64>
    %51 = stablehlo.complex %arg6, %arg7 : tensor<2x4x3xcomplex<f64>>
    %52 = stablehlo.slice %51 [0:1, 0:4, 0:3] : (tensor<2x4x3xcomplex<f64>>) -> tensor<1x4x3xcomplex<f64>>
    %53 = stablehlo.reshape %52 : (tensor<1x4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %54:3 = call @_qr_6(%53) : (tensor<4x3xcomplex<f64>>) -> (tensor<4x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>, tensor<3xi32>)
    %55 = stablehlo.dot_general %54#0, %54#1, contracting_dims = [1] x [0] : (tensor<4x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %56 = stablehlo.slice %51 [0:1, 0:4, 0:3] : (tensor<2x4x3xcomplex<f64>>) -> tensor<1x4x3xcomplex<f64>>
    %57 = stablehlo.reshape %56 : (tensor<1x4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %58 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %59 = stablehlo.compare LT, %54#2, %58, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %60 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %61 = stablehlo.add %54#2, %60 : tensor<3xi32>
    %62 = stablehlo.select %59, %61, %54#2 : tensor<3xi1>, tensor<3xi32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %64 = "stablehlo.gather"(%57, %63) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x3xcomplex<f64>>, tensor<3x1xi32>) -> tensor<4x3xcomplex<f64>>
    %65 = stablehlo.subtract %55, %64 : tensor<4x3xcomplex<f64>>
    %66 = call @_diag_7(%54#1) : (tensor<3x3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
    %67 = stablehlo.abs %66 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
    %68 = stablehlo.real %65 : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %69 = stablehlo.imag %65 : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    return %13, %2#2, %15, %33, %34, %19#2, %32, %48, %37#2, %50, %68, %69, %54#2, %67 : tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<4x3xf64>, tensor<3xi32>, tensor<3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<3xi32>, tensor<3xf64>
  }
  func.func private @_qr(%arg0: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xi32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%arg0, %0) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x3xf32>, tensor<3xi32>) -> (tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>)
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.subtract %1#1, %2 : tensor<3xi32>
    %4 = stablehlo.custom_call @lapack_sorgqr_ffi(%1#0, %1#2) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %5 = stablehlo.slice %1#0 [0:3, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
    %6 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %8 = stablehlo.add %6, %7 : tensor<3x3xi64>
    %9 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %10 = stablehlo.compare GE, %8, %9, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %12 = stablehlo.select %10, %11, %5 : tensor<3x3xi1>, tensor<3x3xf32>
    return %4, %12, %3 : tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xi32>
  }
  func.func private @_diag(%arg0: tensor<3x3xf32>) -> tensor<3xf32> {
    %0 = call @diagonal(%arg0) : (tensor<3x3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @diagonal(%arg0: tensor<3x3xf32>) -> tensor<3xf32> {
    %c = stablehlo.constant dense<3> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = "stablehlo.case"(%c_1) ({
      stablehlo.return %c_0 : tensor<i32>
    }, {
      stablehlo.return %c_0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<3xi64>
      %3 = stablehlo.iota dim = 0 : tensor<3xi64>
      %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %7 = stablehlo.add %2, %6 : tensor<3xi64>
      %8 = stablehlo.select %5, %7, %2 : tensor<3xi1>, tensor<3xi64>
      %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %12 = stablehlo.add %3, %11 : tensor<3xi64>
      %13 = stablehlo.select %10, %12, %3 : tensor<3xi1>, tensor<3xi64>
      %14 = stablehlo.convert %8 : (tensor<3xi64>) -> tensor<3xi32>
      %15 = stablehlo.convert %13 : (tensor<3xi64>) -> tensor<3xi32>
      %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %18 = stablehlo.concatenate %16, %17, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
      %19 = "stablehlo.gather"(%arg0, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x3xf32>, tensor<3x2xi32>) -> tensor<3xf32>
      stablehlo.return %19 : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func private @_qr_0(%arg0: tensor<4x3xcomplex<f32>>) -> (tensor<4x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>, tensor<3xi32>) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1:3 = stablehlo.custom_call @lapack_cgeqp3_ffi(%arg0, %0) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x3xcomplex<f32>>, tensor<3xi32>) -> (tensor<4x3xcomplex<f32>>, tensor<3xi32>, tensor<3xcomplex<f32>>)
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.subtract %1#1, %2 : tensor<3xi32>
    %4 = stablehlo.custom_call @lapack_cungqr_ffi(%1#0, %1#2) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
    %5 = stablehlo.slice %1#0 [0:3, 0:3] : (tensor<4x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
    %6 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %8 = stablehlo.add %6, %7 : tensor<3x3xi64>
    %9 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %10 = stablehlo.compare GE, %8, %9, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<3x3xcomplex<f32>>
    %12 = stablehlo.select %10, %11, %5 : tensor<3x3xi1>, tensor<3x3xcomplex<f32>>
    return %4, %12, %3 : tensor<4x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>, tensor<3xi32>
  }
  func.func private @_diag_1(%arg0: tensor<3x3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
    %0 = call @diagonal_2(%arg0) : (tensor<3x3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %0 : tensor<3xcomplex<f32>>
  }
  func.func private @diagonal_2(%arg0: tensor<3x3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
    %c = stablehlo.constant dense<3> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = "stablehlo.case"(%c_1) ({
      stablehlo.return %c_0 : tensor<i32>
    }, {
      stablehlo.return %c_0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<3xi64>
      %3 = stablehlo.iota dim = 0 : tensor<3xi64>
      %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %7 = stablehlo.add %2, %6 : tensor<3xi64>
      %8 = stablehlo.select %5, %7, %2 : tensor<3xi1>, tensor<3xi64>
      %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %12 = stablehlo.add %3, %11 : tensor<3xi64>
      %13 = stablehlo.select %10, %12, %3 : tensor<3xi1>, tensor<3xi64>
      %14 = stablehlo.convert %8 : (tensor<3xi64>) -> tensor<3xi32>
      %15 = stablehlo.convert %13 : (tensor<3xi64>) -> tensor<3xi32>
      %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %18 = stablehlo.concatenate %16, %17, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
      %19 = "stablehlo.gather"(%arg0, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x3xcomplex<f32>>, tensor<3x2xi32>) -> tensor<3xcomplex<f32>>
      stablehlo.return %19 : tensor<3xcomplex<f32>>
    }) : (tensor<i32>) -> tensor<3xcomplex<f32>>
    return %1 : tensor<3xcomplex<f32>>
  }
  func.func private @_qr_3(%arg0: tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3x3xf64>, tensor<3xi32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1:3 = stablehlo.custom_call @lapack_dgeqp3_ffi(%arg0, %0) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x3xf64>, tensor<3xi32>) -> (tensor<4x3xf64>, tensor<3xi32>, tensor<3xf64>)
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.subtract %1#1, %2 : tensor<3xi32>
    %4 = stablehlo.custom_call @lapack_dorgqr_ffi(%1#0, %1#2) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x3xf64>, tensor<3xf64>) -> tensor<4x3xf64>
    %5 = stablehlo.slice %1#0 [0:3, 0:3] : (tensor<4x3xf64>) -> tensor<3x3xf64>
    %6 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %8 = stablehlo.add %6, %7 : tensor<3x3xi64>
    %9 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %10 = stablehlo.compare GE, %8, %9, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<3x3xf64>
    %12 = stablehlo.select %10, %11, %5 : tensor<3x3xi1>, tensor<3x3xf64>
    return %4, %12, %3 : tensor<4x3xf64>, tensor<3x3xf64>, tensor<3xi32>
  }
  func.func private @_diag_4(%arg0: tensor<3x3xf64>) -> tensor<3xf64> {
    %0 = call @diagonal_5(%arg0) : (tensor<3x3xf64>) -> tensor<3xf64>
    return %0 : tensor<3xf64>
  }
  func.func private @diagonal_5(%arg0: tensor<3x3xf64>) -> tensor<3xf64> {
    %c = stablehlo.constant dense<3> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = "stablehlo.case"(%c_1) ({
      stablehlo.return %c_0 : tensor<i32>
    }, {
      stablehlo.return %c_0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<3xi64>
      %3 = stablehlo.iota dim = 0 : tensor<3xi64>
      %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %7 = stablehlo.add %2, %6 : tensor<3xi64>
      %8 = stablehlo.select %5, %7, %2 : tensor<3xi1>, tensor<3xi64>
      %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %12 = stablehlo.add %3, %11 : tensor<3xi64>
      %13 = stablehlo.select %10, %12, %3 : tensor<3xi1>, tensor<3xi64>
      %14 = stablehlo.convert %8 : (tensor<3xi64>) -> tensor<3xi32>
      %15 = stablehlo.convert %13 : (tensor<3xi64>) -> tensor<3xi32>
      %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %18 = stablehlo.concatenate %16, %17, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
      %19 = "stablehlo.gather"(%arg0, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x3xf64>, tensor<3x2xi32>) -> tensor<3xf64>
      stablehlo.return %19 : tensor<3xf64>
    }) : (tensor<i32>) -> tensor<3xf64>
    return %1 : tensor<3xf64>
  }
  func.func private @_qr_6(%arg0: tensor<4x3xcomplex<f64>>) -> (tensor<4x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>, tensor<3xi32>) {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1:3 = stablehlo.custom_call @lapack_zgeqp3_ffi(%arg0, %0) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>]} : (tensor<4x3xcomplex<f64>>, tensor<3xi32>) -> (tensor<4x3xcomplex<f64>>, tensor<3xi32>, tensor<3xcomplex<f64>>)
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.subtract %1#1, %2 : tensor<3xi32>
    %4 = stablehlo.custom_call @lapack_zungqr_ffi(%1#0, %1#2) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x3xcomplex<f64>>, tensor<3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %5 = stablehlo.slice %1#0 [0:3, 0:3] : (tensor<4x3xcomplex<f64>>) -> tensor<3x3xcomplex<f64>>
    %6 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %8 = stablehlo.add %6, %7 : tensor<3x3xi64>
    %9 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %10 = stablehlo.compare GE, %8, %9, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<3x3xcomplex<f64>>
    %12 = stablehlo.select %10, %11, %5 : tensor<3x3xi1>, tensor<3x3xcomplex<f64>>
    return %4, %12, %3 : tensor<4x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>, tensor<3xi32>
  }
  func.func private @_diag_7(%arg0: tensor<3x3xcomplex<f64>>) -> tensor<3xcomplex<f64>> {
    %0 = call @diagonal_8(%arg0) : (tensor<3x3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
    return %0 : tensor<3xcomplex<f64>>
  }
  func.func private @diagonal_8(%arg0: tensor<3x3xcomplex<f64>>) -> tensor<3xcomplex<f64>> {
    %c = stablehlo.constant dense<3> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %0 = "stablehlo.case"(%c_1) ({
      stablehlo.return %c_0 : tensor<i32>
    }, {
      stablehlo.return %c_0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.iota dim = 0 : tensor<3xi64>
      %3 = stablehlo.iota dim = 0 : tensor<3xi64>
      %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %5 = stablehlo.compare LT, %2, %4, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %7 = stablehlo.add %2, %6 : tensor<3xi64>
      %8 = stablehlo.select %5, %7, %2 : tensor<3xi1>, tensor<3xi64>
      %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
      %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3xi64>
      %12 = stablehlo.add %3, %11 : tensor<3xi64>
      %13 = stablehlo.select %10, %12, %3 : tensor<3xi1>, tensor<3xi64>
      %14 = stablehlo.convert %8 : (tensor<3xi64>) -> tensor<3xi32>
      %15 = stablehlo.convert %13 : (tensor<3xi64>) -> tensor<3xi32>
      %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
      %18 = stablehlo.concatenate %16, %17, dim = 1 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
      %19 = "stablehlo.gather"(%arg0, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x3xcomplex<f64>>, tensor<3x2xi32>) -> tensor<3xcomplex<f64>>
      stablehlo.return %19 : tensor<3xcomplex<f64>>
    }) : (tensor<i32>) -> tensor<3xcomplex<f64>>
    return %1 : tensor<3xcomplex<f64>>
  }
}
