module @jit_whole attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<2x4x3xf32>, %arg3: tensor<2x4x3xf32>, %arg4: tensor<2x4x4xf64>, %arg5: tensor<2x4x4xf64>, %arg6: tensor<2x4x3xf64>, %arg7: tensor<2x4x3xf64>) -> (tensor<2x4x3xf32> {jax.result_info = "result[0]"}, tensor<2x4x3xf32> {jax.result_info = "result[1]"}, tensor<2x4x3xf32> {jax.result_info = "result[2]"}, tensor<2x4x3xf64> {jax.result_info = "result[3]"}, tensor<2x4x3xf64> {jax.result_info = "result[4]"}, tensor<2x4x3xf64> {jax.result_info = "result[5]"}) {
    %cst = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %cst_0 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_1 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_2 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_5 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %cst_6 = stablehlo.constant dense<(4.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_7 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_8 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<3> : tensor<i32>
    %cst_9 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.slice %arg0 [0:2, 0:4, 0:1] : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %4 = "stablehlo.scatter"(%1, %2, %3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      stablehlo.return %arg9 : tensor<f32>
    }) : (tensor<2x4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.slice %arg0 [0:2, 0:4, 1:2] : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %8 = stablehlo.add %6, %7 : tensor<2x4xf32>
    %9 = stablehlo.slice %arg0 [0:2, 0:4, 2:3] : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
    %10 = stablehlo.reshape %9 : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %13 = "stablehlo.scatter"(%10, %11, %12) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      stablehlo.return %arg9 : tensor<f32>
    }) : (tensor<2x4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<2x4xf32>
    %14:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%4, %8, %13, %arg2) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 2, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [3], operand_index = 3, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>)
    %15 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %16 = stablehlo.compare EQ, %14#4, %15, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %18 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %19 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %20 = stablehlo.select %19, %14#3, %18 : tensor<2x4x3xi1>, tensor<2x4x3xf32>
    %21 = stablehlo.complex %arg0, %arg1 : tensor<2x4x4xcomplex<f32>>
    %22 = stablehlo.complex %arg2, %arg3 : tensor<2x4x3xcomplex<f32>>
    %23 = stablehlo.slice %21 [0:2, 0:4, 0:1] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
    %24 = stablehlo.reshape %23 : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %25 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %26 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %27 = "stablehlo.scatter"(%24, %25, %26) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<complex<f32>>, %arg9: tensor<complex<f32>>):
      stablehlo.return %arg9 : tensor<complex<f32>>
    }) : (tensor<2x4xcomplex<f32>>, tensor<1xi32>, tensor<2xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %28 = stablehlo.slice %21 [0:2, 0:4, 1:2] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
    %29 = stablehlo.reshape %28 : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %30 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<complex<f32>>) -> tensor<2x4xcomplex<f32>>
    %31 = stablehlo.add %29, %30 : tensor<2x4xcomplex<f32>>
    %32 = stablehlo.slice %21 [0:2, 0:4, 2:3] : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x1xcomplex<f32>>
    %33 = stablehlo.reshape %32 : (tensor<2x4x1xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %34 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %35 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %36 = "stablehlo.scatter"(%33, %34, %35) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<complex<f32>>, %arg9: tensor<complex<f32>>):
      stablehlo.return %arg9 : tensor<complex<f32>>
    }) : (tensor<2x4xcomplex<f32>>, tensor<1xi32>, tensor<2xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %37:5 = stablehlo.custom_call @lapack_cgtsv_ffi(%27, %31, %36, %22) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 2, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [3], operand_index = 3, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>) -> (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x4x3xcomplex<f32>>, tensor<2xi32>)
    %38 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %39 = stablehlo.compare EQ, %37#4, %38, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %41 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<complex<f32>>) -> tensor<2x4x3xcomplex<f32>>
    %42 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %43 = stablehlo.select %42, %37#3, %41 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f32>>
    %44 = stablehlo.real %43 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %45 = stablehlo.imag %43 : (tensor<2x4x3xcomplex<f32>>) -> tensor<2x4x3xf32>
    %46 = stablehlo.slice %arg4 [0:2, 0:4, 0:1] : (tensor<2x4x4xf64>) -> tensor<2x4x1xf64>
    %47 = stablehlo.reshape %46 : (tensor<2x4x1xf64>) -> tensor<2x4xf64>
    %48 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %49 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %50 = "stablehlo.scatter"(%47, %48, %49) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f64>, %arg9: tensor<f64>):
      stablehlo.return %arg9 : tensor<f64>
    }) : (tensor<2x4xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<2x4xf64>
    %51 = stablehlo.slice %arg4 [0:2, 0:4, 1:2] : (tensor<2x4x4xf64>) -> tensor<2x4x1xf64>
    %52 = stablehlo.reshape %51 : (tensor<2x4x1xf64>) -> tensor<2x4xf64>
    %53 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %54 = stablehlo.add %52, %53 : tensor<2x4xf64>
    %55 = stablehlo.slice %arg4 [0:2, 0:4, 2:3] : (tensor<2x4x4xf64>) -> tensor<2x4x1xf64>
    %56 = stablehlo.reshape %55 : (tensor<2x4x1xf64>) -> tensor<2x4xf64>
    %57 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %58 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %59 = "stablehlo.scatter"(%56, %57, %58) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<f64>, %arg9: tensor<f64>):
      stablehlo.return %arg9 : tensor<f64>
    }) : (tensor<2x4xf64>, tensor<1xi32>, tensor<2xf64>) -> tensor<2x4xf64>
    %60:5 = stablehlo.custom_call @lapack_dgtsv_ffi(%50, %54, %59, %arg6) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 2, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [3], operand_index = 3, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x3xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4x3xf64>, tensor<2xi32>)
    %61 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %62 = stablehlo.compare EQ, %60#4, %61, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %64 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x4x3xf64>
    %65 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %66 = stablehlo.select %65, %60#3, %64 : tensor<2x4x3xi1>, tensor<2x4x3xf64>
    %67 = stablehlo.complex %arg4, %arg5 : tensor<2x4x4xcomplex<f64>>
    %68 = stablehlo.complex %arg6, %arg7 : tensor<2x4x3xcomplex<f64>>
    %69 = stablehlo.slice %67 [0:2, 0:4, 0:1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x1xcomplex<f64>>
    %70 = stablehlo.reshape %69 : (tensor<2x4x1xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %71 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %72 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %73 = "stablehlo.scatter"(%70, %71, %72) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<complex<f64>>, %arg9: tensor<complex<f64>>):
      stablehlo.return %arg9 : tensor<complex<f64>>
    }) : (tensor<2x4xcomplex<f64>>, tensor<1xi32>, tensor<2xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %74 = stablehlo.slice %67 [0:2, 0:4, 1:2] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x1xcomplex<f64>>
    %75 = stablehlo.reshape %74 : (tensor<2x4x1xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %76 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<2x4xcomplex<f64>>
    %77 = stablehlo.add %75, %76 : tensor<2x4xcomplex<f64>>
    %78 = stablehlo.slice %67 [0:2, 0:4, 2:3] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x1xcomplex<f64>>
    %79 = stablehlo.reshape %78 : (tensor<2x4x1xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %80 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %81 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
    %82 = "stablehlo.scatter"(%79, %80, %81) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg8: tensor<complex<f64>>, %arg9: tensor<complex<f64>>):
      stablehlo.return %arg9 : tensor<complex<f64>>
    }) : (tensor<2x4xcomplex<f64>>, tensor<1xi32>, tensor<2xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
    %83:5 = stablehlo.custom_call @lapack_zgtsv_ffi(%73, %77, %82, %68) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 2, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [3], operand_index = 3, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>, tensor<2xi32>)
    %84 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %85 = stablehlo.compare EQ, %83#4, %84, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %87 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    %88 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x3xi1>
    %89 = stablehlo.select %88, %83#3, %87 : tensor<2x4x3xi1>, tensor<2x4x3xcomplex<f64>>
    %90 = stablehlo.real %89 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    %91 = stablehlo.imag %89 : (tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xf64>
    return %20, %44, %45, %66, %90, %91 : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf64>, tensor<2x4x3xf64>, tensor<2x4x3xf64>
  }
}
