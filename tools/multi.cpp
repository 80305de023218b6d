// SPDX-License-Identifier: Apache-2.0
//
// All tools in one file, which links to it name: it is the tool that it is called as. They share a library, so that it
// is little larger than the largest of them. ./dev release ships it.
#include <sys/prctl.h>

#include <array>
#include <string_view>

int tfd_main(int argc, char** argv);
int tfd_checkpoint_main(int argc, char** argv);
int tfd_coordinate_main(int argc, char** argv);
int tfd_data_main(int argc, char** argv);
int tfd_doctor_main(int argc, char** argv);
int tfd_example_main(int argc, char** argv);
int tfd_exec_main(int argc, char** argv);
int tfd_launch_main(int argc, char** argv);
int tfd_plot_main(int argc, char** argv);
int tfd_resolve_main(int argc, char** argv);
int tfd_run_main(int argc, char** argv);
int tfd_serve_main(int argc, char** argv);
int tfd_status_main(int argc, char** argv);

namespace {

struct Tool {
  std::string_view name;
  int (*main)(int, char**);
};
constexpr std::array<Tool, 12> kTools{{
    {"tfd-checkpoint", tfd_checkpoint_main},
    {"tfd-coordinate", tfd_coordinate_main},
    {"tfd-data", tfd_data_main},
    {"tfd-doctor", tfd_doctor_main},
    {"tfd-example", tfd_example_main},
    {"tfd-exec", tfd_exec_main},
    {"tfd-launch", tfd_launch_main},
    {"tfd-plot", tfd_plot_main},
    {"tfd-resolve", tfd_resolve_main},
    {"tfd-run", tfd_run_main},
    {"tfd-serve", tfd_serve_main},
    {"tfd-status", tfd_status_main},
}};

}  // namespace

int main(int argc, char** argv) {
  std::string_view name = argc > 0 ? argv[0] : "";
  name.remove_prefix(name.rfind('/') + 1);  // of all, if there is no slash: npos + 1 is 0
  // The name for ps and pgrep, which is the file's name if it wasn't executed through a link.
  if (argc > 0) ::prctl(PR_SET_NAME, name.data());
  for (const Tool& tool : kTools)
    if (name == tool.name) return tool.main(argc, argv);
  return tfd_main(argc, argv);
}
