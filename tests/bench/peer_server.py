# SPDX-License-Identifier: Apache-2.0
"""A peer's actor in place of a parameter server: an array that is read and added to."""
import numpy


class Server:
    def __init__(self, elements):
        self.value = numpy.zeros(elements, numpy.float32)

    def read(self):
        return self.value

    def add(self, value):
        self.value = self.value + value
