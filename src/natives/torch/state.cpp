// SPDX-License-Identifier: BSD-3-Clause
// Torch's global and thread state: what reads it is answered from the state
// that the trace is in, and guarded; what writes it is recorded in the graph,
// done for real, and undone by the journal. (What a finished trace has left
// changed, the driver puts back: tensor::GlobalStateScope.)
#include "natives/pure.h"
#include "natives/torch/closing.h"
#include "natives/torch/rows.h"
#include "tensor/ambient.h"
#include "tensor/attention_kernels.h"
#include "values/torch/torch_types.h"

namespace magneto::natives {

namespace {

using guards::Ambient;
using tensor::Autocast;
using values::as_constant;
using values::EnteredContext;
using values::set_attribute;

// Undoes writes of the state. One for all traces: the state is the thread's,
// and a record holds all that is needed.
class StateUndo final : public Journaled {
 public:
  enum What : uint64_t {
    kGradMode,
    kAutograd,
    kAutocast,
    kCache,
    kNesting,
    kAttention
  };

  static uint64_t pack(int8_t device, Autocast state) {
    return uint64_t{static_cast<uint8_t>(device)} << 16 |
           uint64_t{static_cast<uint8_t>(state.dtype)} << 8 |
           static_cast<uint64_t>(state.enabled);
  }

  // Each device has an autocast of its own.
  std::optional<WrittenPart> written(uint64_t what,
                                     uint64_t old) const override {
    return WrittenPart{.part =
                           what == kAutocast ? what | old >> 16 << 8 : what};
  }
  bool is_restored(uint64_t what, uint64_t old) const override {
    switch (what) {
      case kGradMode:
        return tensor::grad_mode() == (old != 0);
      case kAutograd:
        return tensor::autograd_state() == old;
      case kAttention:
        return tensor::attention_kernels() == old;
      case kAutocast: {
        const auto device = static_cast<int8_t>(old >> 16);
        return pack(device, tensor::autocast(device)) == old;
      }
      case kCache:
        return tensor::autocast_cache() == (old != 0);
      default:
        return true;  // how deep autocasts are: each says so itself
    }
  }
  std::string part_name(uint64_t part) const override {
    switch (part & 0xff) {
      case kGradMode:
        return "torch's grad mode";
      case kAutograd:
        return "torch's inference mode";
      case kAttention:
        return "which attention kernels are enabled";
      default:
        return "torch's autocast";
    }
  }
  std::string part_content(uint64_t part) const override {
    switch (part & 0xff) {
      case kGradMode:
        return tensor::grad_mode() ? "on" : "off";
      case kAutograd:
        return std::to_string(tensor::autograd_state());
      case kAttention:
        return std::to_string(tensor::attention_kernels());
      default:
        return std::to_string(tensor::autocast_cpu_state()) + ", " +
               std::to_string(tensor::autocast_cuda_state()) + ", " +
               std::to_string(tensor::autocast_other_state());
    }
  }
  void undo(uint64_t what, uint64_t old) noexcept override {
    switch (what) {
      case kGradMode:
        tensor::set_grad_mode(old != 0);
        return;
      case kAutograd:
        tensor::restore_autograd_state(old);
        return;
      case kAutocast:
        tensor::set_autocast(
            static_cast<int8_t>(old >> 16),
            {(old & 1) != 0, static_cast<int8_t>((old >> 8) & 0xff)});
        return;
      case kCache:
        tensor::set_autocast_cache(old != 0);
        return;
      case kAttention:
        tensor::set_attention_kernels(old);
        return;
      default:
        tensor::autocast_nesting(static_cast<int>(static_cast<int64_t>(old)));
        return;
    }
  }
};

StateUndo& state_undo() {
  static StateUndo store;
  return store;
}

// -- reads --------------------------------------------------------------------

// A read that torch's own function answers, under these guards.
template <Literal path, Ambient... guarded>
Outcome<V> read(Context& ctx, const Arguments& args) {
  (ctx.guards.ambient(guarded), ...);
  return call_real<path>(ctx, args);
}

// -- grad mode ----------------------------------------------------------------

Outcome<V> set_grad_enabled(Context& ctx, const Arguments& args) {
  PyObject* mode = as_constant(ctx, args.positional[0]);
  if (mode == nullptr || !PyBool_Check(mode))
    return ctx.graph_break("torch-state",
                           "torch._C._set_grad_enabled of a value that isn't "
                           "a known bool",
                           "pass True or False");
  ctx.guards.ambient(Ambient::GradMode);
  const bool enabled = mode == Py_True;
  const bool before = tensor::grad_mode();
  if (before == enabled) return ctx.none();
  ctx.graph().call_function(torch_objects().set_grad_enabled,
                            {ctx.graph().constant(mode)}, {}, {},
                            ctx.inliner->origin());
  tensor::set_grad_mode(enabled);
  ctx.journal.record(&state_undo(), StateUndo::kGradMode, before);
  return ctx.none();
}

// -- inference mode -----------------------------------------------------------

void record_autograd_state(Context& ctx) {
  ctx.journal.record(&state_undo(), StateUndo::kAutograd,
                     tensor::autograd_state());
}

// The context keeps its node and the state before it. Its own attribute, a C++
// object, is there after a graph break (torch/closing.h).
Outcome<V> enter_inference_mode(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  MG_TRY(V mode, get_attribute(ctx, self, name<"mode">()));
  PyObject* wanted = as_constant(ctx, mode);
  if (wanted == nullptr || !PyBool_Check(wanted) || self->object)
    return ctx.graph_break("torch-state", "torch.inference_mode made elsewhere",
                           "make it inside of the compiled function");
  if (is_entered(ctx, self))
    return ctx.graph_break("torch-state",
                           "a torch.inference_mode is entered twice",
                           "make one for each with statement");
  ctx.guards.ambient(Ambient::InferenceMode);
  const graph::Arg mode_arg = ctx.graph().constant(wanted);
  enter_context(ctx, self, EnteredContext::Kind::InferenceMode, {&mode_arg, 1});
  ctx.heap.set_number(self->heap,
                      static_cast<int64_t>(tensor::autograd_state()));
  record_autograd_state(ctx);
  tensor::restore_autograd_state(tensor::inference_state(wanted == Py_True));
  return ctx.none();
}

Outcome<V> exit_inference_mode(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (!is_innermost_entered(ctx, self))
    return ctx.graph_break("torch-state",
                           "a torch.inference_mode that was entered elsewhere, "
                           "or isn't the last that was, is left here");
  leave_context(ctx);
  record_autograd_state(ctx);
  tensor::restore_autograd_state(
      static_cast<uint64_t>(ctx.heap[self->heap].number));
  return ctx.none();
}

// -- autocast -----------------------------------------------------------------

void set_autocast(Context& ctx, int8_t device, Autocast state) {
  ctx.journal.record(&state_undo(), StateUndo::kAutocast,
                     StateUndo::pack(device, tensor::autocast(device)));
  tensor::set_autocast(device, state);
}

void set_cache(Context& ctx, bool enabled) {
  ctx.journal.record(&state_undo(), StateUndo::kCache,
                     tensor::autocast_cache());
  tensor::set_autocast_cache(enabled);
}

void change_nesting(Context& ctx, int change) {
  if (tensor::autocast_nesting(change) == 0) tensor::clear_autocast_cache();
  ctx.journal.record(&state_undo(), StateUndo::kNesting,
                     static_cast<uint64_t>(static_cast<int64_t>(-change)));
}

struct AutocastSetting {
  int8_t device = -1;  // -1: not known
  Autocast state;
  bool cache = false;
  PyObject* reals[4] = {};  // device, dtype, enabled, cache
};

// From these attributes of a torch.autocast: what __init__ made of its
// arguments, or what __enter__ kept for __exit__.
Outcome<AutocastSetting> read_setting(Context& ctx, V self, PyObject* dtype,
                                      PyObject* enabled, PyObject* cache) {
  AutocastSetting setting;
  PyObject* names[] = {name<"device">(), dtype, enabled, cache};
  for (size_t i = 0; i < 4; ++i) {
    MG_TRY(V value, values::get_attribute(ctx, self, names[i]));
    setting.reals[i] = as_constant(ctx, value);
    if (setting.reals[i] == nullptr) return setting;
  }
  const auto& [device_name, dtype_object, is_enabled, is_cached] =
      setting.reals;
  const int scalar_type = tensor::scalar_type_of(dtype_object);
  if (!PyUnicode_Check(device_name) || scalar_type < 0 ||
      !PyBool_Check(is_enabled) || !PyBool_Check(is_cached))
    return setting;
  setting.device = tensor::autocast_device(PyUnicode_AsUTF8(device_name));
  setting.state = {is_enabled == Py_True, static_cast<int8_t>(scalar_type)};
  setting.cache = is_cached == Py_True;
  return setting;
}

Signal unknown_autocast(Context& ctx) {
  return ctx.graph_break("autocast",
                         "a torch.autocast whose device, dtype or flags are "
                         "not known while tracing",
                         "make it from constants inside of the function");
}

Outcome<V> enter_autocast(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  MG_TRY(AutocastSetting setting,
         read_setting(ctx, self, name<"fast_dtype">(), name<"_enabled">(),
                      name<"_cache_enabled">()));
  if (setting.device < 0 || !self->heap.valid()) return unknown_autocast(ctx);
  if (is_entered(ctx, self))
    return ctx.graph_break("autocast", "a torch.autocast is entered twice",
                           "make one for each with statement");

  guard_autocast(ctx);
  const Autocast old = tensor::autocast(setting.device);
  Ref old_dtype = tensor::dtype_of(old.dtype);
  if (!old_dtype) return ctx.raise_from_python();
  MG_DO(set_attribute(ctx, self, name<"prev_cache_enabled">(),
                      ctx.boolean(tensor::autocast_cache())));
  MG_DO(set_attribute(ctx, self, name<"prev">(), ctx.boolean(old.enabled)));
  MG_DO(set_attribute(ctx, self, name<"prev_fastdtype">(),
                      ctx.constant(std::move(old_dtype))));

  graph::Arg call[4];
  for (size_t i = 0; i < 4; ++i)
    call[i] = ctx.graph().constant(setting.reals[i]);
  // __exit__ wants to know that it was.
  ctx.heap.set_node(self->heap,
                    ctx.tracer.ref(enter_context(
                        ctx, self, EnteredContext::Kind::Autocast, call)));
  set_autocast(ctx, setting.device, setting.state);
  change_nesting(ctx, 1);
  set_cache(ctx, setting.cache);
  return self;
}

Signal not_the_last_autocast(Context& ctx) {
  return ctx.graph_break("autocast",
                         "a torch.autocast that isn't the last that was "
                         "entered is left here");
}

// Of one that was entered before this piece: what follows runs in the state
// outside of it, which is entered in its place; the artifact leaves both
// (torch/closing.h).
Status leave_autocast(Context& ctx, V self, const AutocastSetting& outside) {
  const bool is_left = ctx.heap[self->heap].node.valid();
  if (!self->object || is_left || has_entered(ctx))
    return not_the_last_autocast(ctx);
  guard_autocast(ctx);
  graph::Arg call[4];
  for (size_t i = 0; i < 4; ++i)
    call[i] = ctx.graph().constant(outside.reals[i]);
  enter_context(ctx, self, EnteredContext::Kind::OutsideOfAutocast, call);
  const graph::NodeId cleared =
      ctx.graph().call_function(object_at<"torch.clear_autocast_cache">(), {},
                                {}, {}, ctx.inliner->origin());
  ctx.heap.set_node(self->heap, ctx.tracer.ref(cleared));
  return done;
}

Outcome<V> exit_autocast(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (!self->heap.valid()) return unknown_autocast(ctx);
  const graph::NodeRef node = ctx.heap[self->heap].node;
  const bool was_entered_here =
      node.valid() &&
      ctx.tracer.node(node).target.get() == torch_objects().enter_autocast;
  MG_TRY(AutocastSetting old,
         read_setting(ctx, self, name<"prev_fastdtype">(), name<"prev">(),
                      name<"prev_cache_enabled">()));
  if (old.device < 0) return unknown_autocast(ctx);
  if (was_entered_here) {
    if (!is_innermost_entered(ctx, self)) return not_the_last_autocast(ctx);
    leave_context(ctx);
  } else {
    MG_DO(leave_autocast(ctx, self, old));
  }
  change_nesting(ctx, -1);
  set_autocast(ctx, old.device, old.state);
  set_cache(ctx, old.cache);
  return ctx.boolean(false);
}

// -- default device -----------------------------------------------------------

// Calls in the graph name the device: see values/torch/record.cpp.
Outcome<V> enter_device(Context& ctx, const Arguments& args) {
  PyObject* device = as_constant(ctx, args.positional[0]);
  MG_CHECK(device, "a torch.device, which is a constant");
  ctx.guards.ambient(Ambient::DefaultDevice);
  if (!ctx.default_devices.enter(ctx.journal, device))
    return ctx.raise_from_python();
  return args.positional[0];
}

Outcome<V> exit_device(Context& ctx, const Arguments&) {
  if (ctx.default_devices.empty())
    return ctx.graph_break("torch-state",
                           "a torch.device that was entered elsewhere is left "
                           "here");
  ctx.default_devices.leave(ctx.journal);
  return ctx.none();
}

// -- kernels of attention -----------------------------------------------------

// torch.nn.attention._sdpa_kernel, which torch.nn.attention.sdpa_kernel calls
// to enter and to leave. Graphs name kernels by strings, as torch.compile's do.
Outcome<V> choose_attention(Context& ctx, const Arguments& args) {
  PyObject* const function = object_at<"torch.nn.attention._sdpa_kernel">();
  V by_order = argument(args, 1, name<"set_priority">());
  PyObject* ordered = by_order ? as_constant(ctx, by_order) : Py_False;
  V choice = argument(args, 0, name<"backends">());
  std::vector<V> kernels;
  if (choice) MG_DO(unpack(ctx, choice, kernels));
  std::vector<graph::Arg> nodes;
  Ref real = Ref::steal(PyList_New(0));
  for (V kernel : kernels) {
    kernel = ctx.look(kernel);
    if (kernel->type != values::torch_types().attention_kernel) break;
    Ref kernel_name =
        Ref::steal(PyObject_GetAttr(kernel->object, name<"name">()));
    if (!kernel_name) return ctx.raise_from_python();
    nodes.push_back(ctx.graph().call_function(
        object_at<"torch.nn.attention._backend_from_string">(),
        {ctx.graph().constant(kernel_name)}, {}, Ref::share(kernel->object),
        ctx.inliner->origin()));
    if (PyList_Append(real, kernel->object) < 0) return ctx.raise_from_python();
  }
  if (!choice || nodes.size() != kernels.size() || !ordered ||
      !PyBool_Check(ordered))
    return ctx.graph_break("torch-state",
                           "attention kernels that aren't known while tracing",
                           "name them by members of SDPBackend");
  ctx.guards.ambient(Ambient::AttentionKernels);
  ctx.graph().call_function(
      function, {ctx.graph().list(nodes), ctx.graph().constant(ordered)}, {},
      {}, ctx.inliner->origin());
  ctx.journal.record(&state_undo(), StateUndo::kAttention,
                     tensor::attention_kernels());
  Ref done = Ref::steal(
      PyObject_CallFunctionObjArgs(function, real.get(), ordered, nullptr));
  return done ? Outcome<V>(ctx.none()) : ctx.raise_from_python();
}

// torch.nn.attention._cur_sdpa_kernel_backends.
Outcome<V> attention_choice(Context& ctx, const Arguments& args) {
  ctx.guards.ambient(Ambient::AttentionKernels);
  Ref kernels;
  MG_TRY(bool called,
         call_really(
             ctx, object_at<"torch.nn.attention._cur_sdpa_kernel_backends">(),
             args, kernels));
  MG_CHECK(called, "flags that are known");
  return lift(ctx, std::move(kernels));
}

// -- what can't be followed ---------------------------------------------------

template <Literal path>
Outcome<V> refuse(Context& ctx, const Arguments&) {
  return ctx.graph_break("torch-state",
                         std::string(path.text) + " changes torch's state",
                         "call it outside of the compiled function");
}

// Whether torch.use_deterministic_algorithms would change nothing. It sets an
// option of inductor's, too.
bool is_deterministic_already(PyObject* mode, PyObject* warns) {
  if (!mode || !warns || !PyBool_Check(mode) || !PyBool_Check(warns))
    return false;
  const int64_t wanted = (mode == Py_True ? 1 : 0) | (warns == Py_True ? 2 : 0);
  return (tensor::deterministic_state() & 3) == wanted &&
         find_object("torch._inductor.config.deterministic") == mode;
}

// A change would be for the kernels behind it, and none in a graph of PyTorch's
// compilers is behind anything: the graph ends there.
Outcome<V> use_deterministic(Context& ctx, const Arguments& args) {
  V mode = argument(args, 0, name<"mode">());
  V warns = args.keyword(name<"warn_only">());
  if (mode &&
      is_deterministic_already(as_constant(ctx, mode),
                               warns ? as_constant(ctx, warns) : Py_False)) {
    ctx.guards.ambient(Ambient::Deterministic);
    return ctx.none();
  }
  return refuse<"torch.use_deterministic_algorithms">(ctx, args);
}

#define MG_READ(module, function, ...) \
  { module, function, read<module "." function __VA_OPT__(, ) __VA_ARGS__> }
#define MG_REFUSE(module, function) \
  { module, function, refuse<module "." function> }

constexpr Row kRows[] = {
    MG_READ("torch._C", "is_grad_enabled", Ambient::GradMode),
    MG_READ("torch._C", "_get_cudnn_enabled", Ambient::BackendSwitches),
    MG_READ("torch._C", "_get_cudnn_benchmark", Ambient::BackendSwitches),
    MG_READ("torch._C", "_get_cudnn_deterministic", Ambient::BackendSwitches),
    MG_READ("torch._C", "_get_mkldnn_enabled", Ambient::BackendSwitches),
    {"torch._C", "_set_grad_enabled", set_grad_enabled, 1, 1, nullptr},
    MG_READ("torch._C", "is_inference_mode_enabled", Ambient::InferenceMode),
    MG_REFUSE("torch._C", "_InferenceMode"),
    {"torch.autograd.grad_mode", "inference_mode.__enter__",
     enter_inference_mode, 1, 1, nullptr},
    {"torch.autograd.grad_mode", "inference_mode.__exit__", exit_inference_mode,
     4, 4, nullptr},

    {"torch", "device.__enter__", enter_device, 1, 1, nullptr},
    {"torch", "device.__exit__", exit_device, 4, 4, nullptr},
    {"torch.amp.autocast_mode", "autocast.__enter__", enter_autocast, 1, 1,
     nullptr},
    {"torch.amp.autocast_mode", "autocast.__exit__", exit_autocast, 4, 4,
     nullptr},
    MG_READ("torch.amp.autocast_mode", "is_autocast_available"),
    MG_READ("torch._C", "_is_autocast_available"),
    MG_READ("torch._C", "is_autocast_enabled", Ambient::AutocastCpu,
            Ambient::AutocastCuda, Ambient::AutocastOther),
    MG_READ("torch._C", "is_autocast_cpu_enabled", Ambient::AutocastCpu),
    MG_READ("torch._C", "is_autocast_cache_enabled", Ambient::AutocastCpu),
    MG_READ("torch._C", "_is_any_autocast_enabled", Ambient::AutocastCpu,
            Ambient::AutocastCuda, Ambient::AutocastOther),
    MG_READ("torch._C", "get_autocast_dtype", Ambient::AutocastCpu,
            Ambient::AutocastCuda, Ambient::AutocastOther),
    MG_READ("torch._C", "get_autocast_cpu_dtype", Ambient::AutocastCpu),
    MG_READ("torch._C", "get_autocast_gpu_dtype", Ambient::AutocastCuda),
    MG_READ("torch._C", "_get_privateuse1_backend_name"),
    MG_REFUSE("torch._C", "set_autocast_enabled"),
    MG_REFUSE("torch._C", "set_autocast_dtype"),
    MG_REFUSE("torch._C", "set_autocast_cache_enabled"),
    MG_REFUSE("torch._C", "autocast_increment_nesting"),
    MG_REFUSE("torch._C", "autocast_decrement_nesting"),

    MG_READ("torch._C", "get_default_dtype", Ambient::DefaultDtype),
    MG_READ("torch", "get_default_device", Ambient::DefaultDevice,
            Ambient::TorchFunction),
    MG_READ("torch._C", "_get_deterministic_algorithms",
            Ambient::Deterministic),
    MG_READ("torch._C", "_get_deterministic_algorithms_warn_only",
            Ambient::Deterministic),
    MG_READ("torch._C", "_get_deterministic_fill_uninitialized_memory",
            Ambient::Deterministic),
    MG_READ("torch._C", "get_num_threads", Ambient::ThreadCount),
    MG_READ("torch._C", "get_num_interop_threads", Ambient::ThreadCount),
    MG_READ("torch._C", "_is_torch_function_enabled", Ambient::TorchFunction),
    MG_READ("torch._C", "_is_torch_function_all_disabled",
            Ambient::TorchFunction),
    MG_READ("torch._C", "_len_torch_function_stack", Ambient::TorchFunction),
    MG_READ("torch._C", "_is_torch_function_mode_enabled",
            Ambient::TorchFunction),
    MG_REFUSE("torch", "set_default_dtype"),
    MG_REFUSE("torch", "set_default_device"),
    {"torch", "use_deterministic_algorithms", use_deterministic, 0, 1,
     "mode warn_only"},
    MG_REFUSE("torch", "set_num_threads"),

    {"torch.nn.attention", "_sdpa_kernel", choose_attention, 1, 2,
     "backends set_priority"},
    {"torch.nn.attention", "_cur_sdpa_kernel_backends", attention_choice, 0, 1,
     "with_priority"},

    // Settings of torch's backends: process-wide, set before a program runs.
    MG_READ("torch.cuda", "is_available"),
    MG_READ("torch.cuda", "is_bf16_supported", Ambient::CurrentDevice),
    MG_READ("torch.cuda", "device_count"),
    MG_READ("torch.cuda", "current_device", Ambient::CurrentDevice),
    MG_READ("torch.cuda", "get_device_name", Ambient::CurrentDevice),
    MG_READ("torch.cuda", "get_device_capability", Ambient::CurrentDevice),
    MG_READ("torch.cuda", "get_device_properties", Ambient::CurrentDevice),
    MG_READ("torch.xpu", "is_available"),
    MG_READ("torch.mps", "is_available"),
    MG_READ("torch.backends.mps", "is_available"),
    MG_READ("torch.backends.mps", "is_built"),
    MG_READ("torch.backends.mkldnn", "is_available"),
    MG_READ("torch.accelerator", "is_available"),
    MG_READ("torch.backends.cuda", "flash_sdp_enabled",
            Ambient::AttentionKernels),
    MG_READ("torch.backends.cuda", "mem_efficient_sdp_enabled",
            Ambient::AttentionKernels),
    MG_READ("torch.backends.cuda", "math_sdp_enabled",
            Ambient::AttentionKernels),
    MG_READ("torch.backends.cuda", "cudnn_sdp_enabled",
            Ambient::AttentionKernels),
    MG_READ("torch.backends.cuda", "is_flash_attention_available"),
    MG_READ("torch.distributed", "is_available"),

    // Seldom asked for, and a program may well set them meanwhile.
    MG_REFUSE("torch", "is_warn_always_enabled"),
    MG_REFUSE("torch", "get_float32_matmul_precision"),

    // Random number generators: a graph can't move them.
    MG_REFUSE("torch.random", "manual_seed"),
    MG_REFUSE("torch.random", "seed"),
    MG_REFUSE("torch.random", "initial_seed"),
    MG_REFUSE("torch.random", "get_rng_state"),
    MG_REFUSE("torch.random", "set_rng_state"),
    MG_REFUSE("torch.random", "fork_rng"),
    MG_REFUSE("torch.cuda.random", "manual_seed"),
    MG_REFUSE("torch.cuda.random", "manual_seed_all"),
    MG_REFUSE("torch.cuda.random", "get_rng_state"),
    MG_REFUSE("torch.cuda.random", "set_rng_state"),
};

}  // namespace

void guard_autocast(Context& ctx) {
  ctx.guards.ambient(Ambient::AutocastCpu);
  ctx.guards.ambient(Ambient::AutocastCuda);
  ctx.guards.ambient(Ambient::AutocastOther);
}

std::span<const Row> torch_state_rows() { return kRows; }

}  // namespace magneto::natives
