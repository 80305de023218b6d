#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The SGD and Adam cases of the golden set optimizers_keras (Keras 3.15.1 on TensorFlow 2.21.0, float32 on CPU): two
// parameters, three steps; what the parameters are after each step, as float32 bits, and the slots after the last.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tfd::variable {

struct KerasStep {
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<std::uint32_t>> bits;
};
struct KerasCase {
  std::string name;
  std::string optimizer;  // JSON
  std::vector<std::vector<float>> parameters;
  std::vector<KerasStep> steps;
  std::vector<std::pair<std::string, std::vector<float>>> slots;  // "p0_momentum"
};

inline const std::vector<KerasCase> kKerasCases{
    {"sgd",
     R"({"sgd": {}})",
     {{1.0f, 2.0f}, {0.5f}},
     {{{{0.1f, -0.2f}, {0.3f}}, {{0x3f7fbe77, 0x400020c5}, {0x3efe76c9}}},
      {{{0.05f, 0.4f}, {-0.1f}}, {{0x3f7f9db2, 0x3fffbe78}, {0x3efef9db}}},
      {{{-0.3f, 0.2f}, {0.2f}}, {{0x3f803127, 0x3fff7cef}, {0x3efdf3b6}}}},
     {}},
    {"sgd_lr",
     R"({"sgd": {"learning_rate": 0.1}})",
     {{1.0f, 2.0f}, {0.5f}},
     {{{{0.1f, -0.2f}, {0.3f}}, {{0x3f7d70a4, 0x400147ae}, {0x3ef0a3d7}}},
      {{{0.05f, 0.4f}, {-0.1f}}, {{0x3f7c28f6, 0x3ffd70a4}, {0x3ef5c28f}}},
      {{{-0.3f, 0.2f}, {0.2f}}, {{0x3f81eb85, 0x3ffae148}, {0x3eeb851e}}}},
     {}},
    {"momentum",
     R"({"sgd": {"learning_rate": 0.1, "momentum": 0.9}})",
     {{1.0f, 2.0f}, {0.5f}},
     {{{{0.1f, -0.2f}, {0.3f}}, {{0x3f7d70a4, 0x400147ae}, {0x3ef0a3d7}}},
      {{{0.05f, 0.4f}, {-0.1f}}, {{0x3f79db23, 0x3fffbe77}, {0x3ee7ef9e}}},
      {{{-0.3f, 0.2f}, {0.2f}}, {{0x3f7e4f77, 0x3ffaa64c}, {0x3ed5dcc6}}}},
     {{"p0_momentum", {0.017400000244379044f, -0.0398000031709671f}}, {"p1_momentum", {-0.03530000150203705f}}}},
    {"nesterov",
     R"({"sgd": {"learning_rate": 0.1, "momentum": 0.9, "nesterov": true}})",
     {{1.0f, 2.0f}, {0.5f}},
     {{{{0.1f, -0.2f}, {0.3f}}, {{0x3f7b22d1, 0x40026e98}, {0x3ee2d0e5}}},
      {{{0.05f, 0.4f}, {-0.1f}}, {{0x3f76a162, 0x3ffd35a9}, {0x3ee01a37}}},
      {{{-0.3f, 0.2f}, {0.2f}}, {{0x3f8128e1, 0x3ff6108d}, {0x3ec5989e}}}},
     {{"p0_momentum", {0.017400000244379044f, -0.0398000031709671f}}, {"p1_momentum", {-0.03530000150203705f}}}},
    {"adam",
     R"({"adam": {}})",
     {{1.0f, 2.0f}, {0.5f}},
     {{{{0.1f, -0.2f}, {0.3f}}, {{0x3f7fbe77, 0x40001062}, {0x3eff7cee}}},
      {{{0.05f, 0.4f}, {-0.1f}}, {{0x3f7f8160, 0x40000a62}, {0x3eff4879}}},
      {{{-0.3f, 0.2f}, {0.2f}}, {{0x3f7f9821, 0x400001e0}, {0x3efef96d}}}},
     {{"p0_momentum", {-0.017400002107024193f, 0.0398000031709671f}},
      {"p0_velocity", {0.0001024775265250355f, 0.00023976006195880473f}},
      {"p1_momentum", {0.03530000150203705f}},
      {"p1_velocity", {0.00013981010124552995f}}}},
    {"adam_lr",
     R"({"adam": {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-05}})",
     {{1.0f, 2.0f}, {0.5f}},
     {{{{0.1f, -0.2f}, {0.3f}}, {{0x3f666cf3, 0x40066595}, {0x3eccd12c}}},
      {{{0.05f, 0.4f}, {-0.1f}}, {{0x3f4f0644, 0x4003b3f7}, {0x3ebafa52}}},
      {{{-0.3f, 0.2f}, {0.2f}}, {{0x3f5a1a49, 0x40001188}, {0x3e9ca01e}}}},
     {{"p0_momentum", {-0.03920000046491623f, 0.07840000092983246f}},
      {"p0_velocity", {0.0010227600578218699f, 0.0023760399781167507f}},
      {"p1_momentum", {0.06240000203251839f}},
      {"p1_velocity", {0.0013810901436954737f}}}},
};

}  // namespace tfd::variable
