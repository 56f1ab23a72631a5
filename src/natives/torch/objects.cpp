// SPDX-License-Identifier: BSD-3-Clause
#include "natives/torch/objects.h"

#include <string>

#include "python/ref.h"
#include "support/check.h"
#include "support/forever.h"

namespace magneto::natives {

namespace {

PyObject* need(const char* path) {
  PyObject* found = find_object(path);
  MG_CHECK(found, std::string("torch has no ") + path);
  return Ref::share(found).release();
}

}  // namespace

const TorchObjects& torch_objects() {
  static const TorchObjects* const objects = forever([] {
    TorchObjects t;
    t.getattr_function = need("builtins.getattr");
    t.get_data = need("torch._C._autograd._get_data_attr");
    t.set_data = need("torch.ops.aten.set_data.default");
    t.set_grad_enabled = need("torch._C._set_grad_enabled");
    t.enter_autocast = need("torch.amp.autocast_mode._enter_autocast");
    t.exit_autocast = need("torch.amp.autocast_mode._exit_autocast");
    t.module_module = need("torch.nn.modules.module");
    t.tensor_type = Py_TYPE(find_object("torch.FloatTensor"));
    return t;
  }());
  return *objects;
}

}  // namespace magneto::natives
