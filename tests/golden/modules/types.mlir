// Every element type of tfd, each returned as its own sum with itself (a bool as its negation), and an empty tensor.
module @types {
  func.func public @main(%p: tensor<3xi1>, %s8: tensor<3xi8>, %s16: tensor<3xi16>, %s32: tensor<3xi32>, %s64: tensor<3xi64>,
      %u8: tensor<3xui8>, %u16: tensor<3xui16>, %u32: tensor<3xui32>, %u64: tensor<3xui64>, %f16: tensor<3xf16>,
      %bf16: tensor<3xbf16>, %f32: tensor<3xf32>, %f64: tensor<3xf64>, %empty: tensor<0x3xf32>)
      -> (tensor<3xi1>, tensor<3xi8>, tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xui8>, tensor<3xui16>,
          tensor<3xui32>, tensor<3xui64>, tensor<3xf16>, tensor<3xbf16>, tensor<3xf32>, tensor<3xf64>, tensor<0x3xf32>) {
    %0 = stablehlo.not %p : tensor<3xi1>
    %1 = stablehlo.add %s8, %s8 : tensor<3xi8>
    %2 = stablehlo.add %s16, %s16 : tensor<3xi16>
    %3 = stablehlo.add %s32, %s32 : tensor<3xi32>
    %4 = stablehlo.add %s64, %s64 : tensor<3xi64>
    %5 = stablehlo.add %u8, %u8 : tensor<3xui8>
    %6 = stablehlo.add %u16, %u16 : tensor<3xui16>
    %7 = stablehlo.add %u32, %u32 : tensor<3xui32>
    %8 = stablehlo.add %u64, %u64 : tensor<3xui64>
    %9 = stablehlo.add %f16, %f16 : tensor<3xf16>
    %10 = stablehlo.add %bf16, %bf16 : tensor<3xbf16>
    %11 = stablehlo.add %f32, %f32 : tensor<3xf32>
    %12 = stablehlo.add %f64, %f64 : tensor<3xf64>
    %13 = stablehlo.add %empty, %empty : tensor<0x3xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 : tensor<3xi1>, tensor<3xi8>, tensor<3xi16>, tensor<3xi32>,
        tensor<3xi64>, tensor<3xui8>, tensor<3xui16>, tensor<3xui32>, tensor<3xui64>, tensor<3xf16>, tensor<3xbf16>, tensor<3xf32>,
        tensor<3xf64>, tensor<0x3xf32>
  }
}
