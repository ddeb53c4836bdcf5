// SPDX-License-Identifier: Apache-2.0
#include "cancel.hpp"
#include "command.hpp"
#include "output.hpp"
#include "text.hpp"

#include <offramp/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::cli {
namespace {

using nlohmann::json;

constexpr auto footer = R"(Examples:
  offramp pack kv.safetensors kv.ofr            shrink a file, bit for bit
  offramp pack kv.safetensors kv.ofr --codec exact-dense
  offramp verify kv.ofr                         check every checksum and decode every block
  offramp unpack kv.ofr kv2.safetensors         restore it
  offramp diff kv.safetensors kv2.safetensors   compare tensor by tensor
  offramp frames vortex vortex.mp4              write frames while the next ones are made

Exit codes: 0 done, 1 the data is bad or differs, 2 usage, 3 the machine failed,
129, 130 and 143 ended by a signal (SIGHUP, SIGINT, SIGTERM).)";

// JSON allows valid UTF-8 only; names and paths may hold anything.
std::string to_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

void print_json(const Error& error) noexcept {
  try {
    const json report{{"ok", false},
                      {"error",
                       {{"code", name_of(error.code)},
                        {"what", error.what},
                        {"path", error.path},
                        {"remedy", error.remedy}}}};
    put_out(to_text(report) + "\n");
  } catch (const std::exception& failed) {
    say(fmt::format("offramp: {}\n", failed.what()));  // the exit code is that of `error`
  }
}

int fail(const Context& context, const Error& error, int code) {
  say(fmt::format("offramp: {}\n", error.message()));
  if (context.json) print_json(error);
  return code;
}

// What stands in a command's place and is none.
std::optional<Error> unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  const std::string_view word = argv[1];
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  const std::vector<std::string_view> names(commands.begin(), commands.end());
  if (std::ranges::find(names, word) != names.end()) return std::nullopt;
  const std::string_view meant = nearest(word, names);
  return Error{.code = ErrorCode::not_found,
               .what = fmt::format("there is no command '{}'", printable(word)),
               .path = {},
               .remedy = fmt::format("{}the commands are {}",
                                     meant.empty() ? "" : fmt::format("did you mean {}? ", meant),
                                     fmt::join(commands, ", "))};
}

int run(const Context& context, const SignalStop& signals) {
  try {
    return context.run();
  } catch (const UsageError& error) {
    return fail(context, error.error(), usage);
  } catch (const DataError& error) {
    if (error.error().code == ErrorCode::cancelled && signals.exit_code()) {
      return fail(context, error.error(), signals.exit_code());
    }
    return fail(context, error.error(), bad_data);
  } catch (const MachineError& error) {
    if (error.error().code == ErrorCode::cancelled && signals.exit_code()) {
      return fail(context, error.error(), signals.exit_code());
    }
    return fail(context, error.error(), machine_failed);
  } catch (const std::bad_alloc&) {
    return fail(context,
                {.code = ErrorCode::out_of_memory,
                 .what = "no memory left",
                 .path = {},
                 .remedy = "use a smaller --chunk or fewer --slots"},
                machine_failed);
  } catch (const CLI::Error& error) {
    const Error reason{.code = ErrorCode::logic, .what = error.what(), .path = {}, .remedy = {}};
    return fail(context, reason, usage);
  } catch (const LogicError& error) {
    return fail(context, {.code = ErrorCode::logic, .what = error.what(), .path = {}, .remedy = {}},
                usage);
  } catch (const std::exception& error) {
    return fail(context,
                {.code = ErrorCode::device, .what = error.what(), .path = {}, .remedy = {}},
                machine_failed);
  }
}

}  // namespace

void Context::add_common_options(CLI::App& command) {
  command.add_flag("--json", json, "Print one JSON object for machines instead of text");
  command.add_flag("-q,--quiet", quiet, "Print errors only, no progress");
}

void Context::print(const nlohmann::json& machine, const std::string& human) const {
  if (json) {
    put_out(to_text(machine) + "\n");
  } else if (!quiet) {
    put_out(human);
  }
}

int main(int argc, char** argv) {
  hold_standard_streams();
  // A reader that goes away, or a file at its size limit, is an error to report and to clean up
  // behind, not a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app{"offramp: packs tensors small and exact, checks them, and brings them back"};
  app.name("offramp");
  app.footer(footer);
  app.set_version_flag("--version", std::string("offramp ") + OFFRAMP_VERSION);
  app.require_subcommand(1);
  Context context;
  add_pack(app, context);
  add_unpack(app, context);
  add_info(app, context);
  add_verify(app, context);
  add_recover(app, context);
  add_diff(app, context);
  add_frames(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    // The options were not taken in, so whether JSON is wanted is read off the words.
    context.json = std::find(argv + 1, argv + argc, std::string_view("--json")) != argv + argc;
    if (const auto unknown = unknown_command(app, argc, argv)) {
      return fail(context, *unknown, usage);
    }
    app.exit(error);
    if (context.json) {
      print_json({.code = ErrorCode::logic, .what = error.what(), .path = {}, .remedy = {}});
    }
    return usage;
  }
  const SignalStop signals;
  context.stop = signals.token();
  return run(context, signals);
}

}  // namespace offramp::cli

int main(int argc, char** argv) { return offramp::cli::main(argc, argv); }
