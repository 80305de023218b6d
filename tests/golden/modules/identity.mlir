// Arguments that are results: what a runtime may be tempted to pass through.
module @identity {
  func.func public @main(%x: tensor<64x16xf32>) -> tensor<64x16xf32> {
    return %x : tensor<64x16xf32>
  }
}
