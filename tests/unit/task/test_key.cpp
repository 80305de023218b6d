// SPDX-License-Identifier: Apache-2.0
//
// The file of the cluster's key: its content, its permissions, and its places.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tfd/task/key.hpp"

namespace tfd::task {
namespace {

// A directory of this test alone.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/tfd-key-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

transport::CurveKey new_key() { return transport::make_curve_key().value(); }

void write(const std::string& path, const std::string& text, mode_t mode = 0600) {
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

cluster::ClusterConfig config_with(const std::string& extra) {
  cluster::ClusterConfig config;
  config.extra = extra;
  return config;
}

Environment environment(std::map<std::string, std::string, std::less<>> values) {
  return Environment(std::move(values));
}

}  // namespace

TEST_CASE("key file: what is written is read again, by nobody else") {
  const Folder folder;
  const auto key = new_key();
  REQUIRE(save_new_key(folder / "key", key).has_value());
  CHECK(mode_of(folder / "key") == 0600);
  CHECK(load_key(folder / "key").value() == key);
  const Result<void> again = save_new_key(folder / "key", new_key());
  REQUIRE(!again);
  CHECK(again.error().code == Code::kAlreadyExists);
  CHECK(load_key(folder / "key").value() == key);
  CHECK(save_new_key(folder / "no/such/directory", key).error().code == Code::kNotFound);
}

TEST_CASE("key file: never follows a link to where somebody else wants it") {
  const Folder folder;
  REQUIRE(::symlink((folder / "target").c_str(), (folder / "key").c_str()) == 0);
  CHECK(save_new_key(folder / "key", new_key()).error().code == Code::kAlreadyExists);
  CHECK(!std::filesystem::exists(folder / "target"));
}

TEST_CASE("key file: cut off anywhere it is no key, nor with anything else in it") {
  const std::string whole = key_to_text(new_key());
  CHECK(key_from_text(whole).has_value());
  CHECK(key_from_text(whole.substr(0, whole.size() - 1)).has_value());  // without the last newline
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    const auto cut = key_from_text(whole.substr(0, size));
    REQUIRE_MESSAGE(!cut, size);
    CHECK(cut.error().code == Code::kInvalidArgument);
  }
  CHECK(key_from_text(whole + "more\n").error().message == "the key is incomplete");
  CHECK(key_from_text("-----BEGIN PRIVATE KEY-----\n").error().message == "does not hold a tfd key");
  CHECK(key_from_text("tfd-key-1 0123456789abcdef\n").error().message.starts_with("holds a key of another version"));
  std::string other = whole;
  other.back() = other[other.size() - 2] == 'a' ? 'b' : 'a';  // one character too many
  CHECK(!key_from_text(other));
  std::string changed = whole;
  char& last = changed[changed.size() - 3];
  last = last == 'a' ? 'b' : 'a';
  CHECK(key_from_text(changed).error().message.starts_with("the key is incomplete: "));
  std::string windows;
  for (const char c : whole) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(key_from_text(windows).value() == key_from_text(whole).value());
}

TEST_CASE("key file: errors name the file and never what is in it") {
  const Folder folder;
  CHECK(load_key(folder / "none").error().code == Code::kNotFound);
  CHECK(load_key(folder.path()).error().message == "key file " + folder.path() + ": not a regular file");
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(load_key(folder / "fifo").error().code == Code::kInvalidArgument);  // and doesn't wait for a writer
  write(folder / "large", std::string(5000, 'x'));
  CHECK(load_key(folder / "large").error().message == "key file " + (folder / "large") + ": does not hold a tfd key");
  const auto key = new_key();
  std::string text = key_to_text(key);
  text.resize(text.size() - 5);
  write(folder / "short", text);
  const Error error = load_key(folder / "short").error();
  CHECK(error.message.starts_with("key file " + (folder / "short") + ": the key is incomplete"));
  CHECK(error.message.find(key.secret_key.substr(0, 8)) == std::string::npos);
}

TEST_CASE("key file: nobody else may read or change it, its group only on a read-only mount") {
  const Folder folder;
  const auto key = new_key();
  for (const mode_t mode : {0600u, 0400u, 0700u}) {
    write(folder / "key", key_to_text(key), mode);
    CHECK(load_key(folder / "key").value() == key);
  }
  for (const mode_t mode : {0604u, 0644u, 0602u, 0601u, 0666u, 0777u}) {
    write(folder / "key", key_to_text(key), mode);
    const auto refused = load_key(folder / "key");
    REQUIRE(!refused);
    CHECK(refused.error().code == Code::kPermissionDenied);
    CHECK(refused.error().message ==
          fmt::format("key file {0}: mode {1:04o}: others can read it: chmod 600 {0}", folder / "key", mode));
  }
  write(folder / "key", key_to_text(key), 0640);
  CHECK(load_key(folder / "key").error().message ==
        fmt::format("key file {0}: mode 0640: its group can read it: chmod 600 {0}", folder / "key"));
}

TEST_CASE("key file: a mounted Secret may be its group's, and not everybody's") {
  const Folder folder;
  const auto key = new_key();
  const std::string mount = folder / "secret";
  REQUIRE(::mkdir(mount.c_str(), 0755) == 0);
  if (::mount("tmpfs", mount.c_str(), "tmpfs", 0, nullptr) != 0) {
    MESSAGE("not run: mounting needs root");
    return;
  }
  // The layout of kubelet: a directory of this version of the Secret, and links to it.
  REQUIRE(::mkdir((mount + "/..2026").c_str(), 0755) == 0);
  REQUIRE(::symlink("..2026", (mount + "/..data").c_str()) == 0);
  REQUIRE(::symlink("..data/key", (mount + "/key").c_str()) == 0);
  const auto load_read_only = [&](mode_t mode) {
    write(mount + "/..2026/key", key_to_text(key), mode);
    REQUIRE(::mount(nullptr, mount.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
    auto loaded = load_key(mount + "/key");
    REQUIRE(::mount(nullptr, mount.c_str(), nullptr, MS_REMOUNT, nullptr) == 0);
    return loaded;
  };
  const auto by_group = load_read_only(0440);
  const auto by_all = load_read_only(0444);
  const auto writable = load_key(mount + "/key");
  REQUIRE(::umount2(mount.c_str(), MNT_DETACH) == 0);
  CHECK(by_group.value() == key);
  REQUIRE(!by_all);
  CHECK(by_all.error().message == fmt::format("key file {}/key: mode 0444: others can read it; for a Kubernetes "
                                              "Secret set defaultMode: 0440",
                                              mount));
  CHECK(writable.error().code == Code::kPermissionDenied);
}

TEST_CASE("key: --key-file, TFD_KEY_FILE, the spec and the default path, in this order; none is none") {
  const Folder folder;
  const auto at = [&](const std::string& name) {
    const auto key = new_key();
    write(folder / name, key_to_text(key));
    return key;
  };
  const auto asked = at("asked"), variable = at("variable"), stated = at("stated");
  std::filesystem::create_directories(folder / "config/tfd");
  const auto usual = at("config/tfd/key");
  const auto config = config_with(R"({"key_file": ")" + (folder / "stated") + R"(", "other": 1})");
  Environment env = environment({{"XDG_CONFIG_HOME", folder / "config"}, {"TFD_KEY_FILE", folder / "variable"}});
  const auto found = [&](const std::string& path, const cluster::ClusterConfig& spec) {
    return find_key(path, spec, env).value();
  };
  CHECK(found(folder / "asked", config)->key == asked);
  CHECK(found("", config)->key == variable);
  CHECK(!found("none", config));
  CHECK(is_key_declined("none", env));
  CHECK(!is_key_declined("", env));
  env.set("TFD_KEY_FILE", "none");
  CHECK(!found("", config));
  CHECK(is_key_declined("", env));
  CHECK(found(folder / "asked", config)->key == asked);
  env.set("TFD_KEY_FILE", "");
  CHECK(found("", config)->key == stated);
  CHECK(!found("", config)->is_default);
  CHECK(!found("", config_with(R"({"key_file": "none"})")));
  CHECK(found("", {})->key == usual);
  CHECK(found("", {})->is_default);
  CHECK(found("", {})->path == folder / "config/tfd/key");
  CHECK(found(folder / "config/../config/tfd/key", {})->is_default);
  // One that was named must be there, and one that is there must be good.
  CHECK(find_key(folder / "missing", config, env).error().code == Code::kNotFound);
  write(folder / "config/tfd/key", key_to_text(usual), 0644);
  CHECK(find_key("", {}, env).error().code == Code::kPermissionDenied);
  std::filesystem::remove_all(folder / "config");
  CHECK(!found("", {}));
}

TEST_CASE("key: the default path is XDG's, else in the home directory, else nowhere") {
  CHECK(default_key_path(environment({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}})) == "/c/tfd/key");
  CHECK(default_key_path(environment({{"XDG_CONFIG_HOME", "relative"}, {"HOME", "/h"}})) == "/h/.config/tfd/key");
  CHECK(default_key_path(environment({{"XDG_CONFIG_HOME", ""}, {"HOME", "/h"}})) == "/h/.config/tfd/key");
  CHECK(default_key_path({}).empty());
  CHECK(!find_key("", {}, {}).value());
  const Folder folder;
  const std::string path = folder / "home/.config/tfd/key";
  REQUIRE(make_key_directory(path).has_value());
  CHECK(mode_of(folder / "home/.config/tfd") == 0700);
  CHECK(mode_of(folder / "home") == 0700);
  CHECK(make_key_directory(path).has_value());
  write(folder / "file", "");
  CHECK(!make_key_directory(folder / "file/tfd/key"));
}

TEST_CASE("key: of a run, it is whole, private, and gone with it") {
  const Folder folder;
  const Environment env = environment({{"XDG_RUNTIME_DIR", folder.path()}});
  std::string path;
  {
    const auto made = RunKey::make(env);
    REQUIRE(made.has_value());
    path = made->path();
    CHECK(path.starts_with(folder.path() + "/tfd-key-"));
    CHECK(mode_of(path) == 0600);
    CHECK(load_key(path).has_value());
  }
  CHECK(!std::filesystem::exists(path));
  // An unusable directory is passed over.
  const auto elsewhere = RunKey::make(environment({{"XDG_RUNTIME_DIR", "/no/such"}, {"TMPDIR", folder.path()}}));
  CHECK(elsewhere.value().path().starts_with(folder.path() + "/"));
}

}  // namespace tfd::task
