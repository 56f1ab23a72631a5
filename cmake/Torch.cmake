# Finds the Python interpreter, its headers and the installed torch. The
# extension must be built against the very torch that it will be loaded with,
# so everything comes from that interpreter.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
  OPTIONAL_COMPONENTS Development.Embed)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c
    "import importlib.metadata, importlib.util, os, sysconfig; s = importlib.util.find_spec('torch'); print(os.path.dirname(s.origin) if s else '', sysconfig.get_config_var('EXT_SUFFIX').lstrip('.'), importlib.metadata.version('torch') if s else '', sep=';')"
  OUTPUT_VARIABLE probe OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
list(GET probe 0 MAGNETO_TORCH_DIR)
list(GET probe 1 MAGNETO_EXT_SUFFIX)
list(GET probe 2 torch_version)
# The releases that the sources are for; pyproject.toml says the same.
if(NOT torch_version MATCHES "^2\\.(13|14|15)([.]|$)")
  message(FATAL_ERROR
    "magneto is for PyTorch 2.13 to 2.15, and ${Python_EXECUTABLE} has "
    "'${torch_version}'. Run: pip install 'torch>=2.13,<2.16'")
endif()
# The extension of each release has a name of its own (magneto/_load.py).
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "t\\1\\2" MAGNETO_TORCH_TAG
  "${torch_version}")
# support/torch_release.h
string(REGEX REPLACE "^[0-9]+\\.([0-9]+).*" "\\1" torch_minor
  "${torch_version}")
add_compile_definitions(MAGNETO_TORCH_MINOR=${torch_minor})

add_library(python_headers INTERFACE)
target_include_directories(python_headers SYSTEM INTERFACE
  ${Python_INCLUDE_DIRS})

# fmt comes from torch's wheel, header-only, through a folder that contains
# nothing else, so that no other torch header can slip in.
set(shim ${CMAKE_BINARY_DIR}/shim)
file(MAKE_DIRECTORY ${shim})
file(CREATE_LINK ${MAGNETO_TORCH_DIR}/include/fmt ${shim}/fmt SYMBOLIC)
add_library(fmt_headers INTERFACE)
target_include_directories(fmt_headers SYSTEM INTERFACE ${shim})
target_compile_definitions(fmt_headers INTERFACE FMT_HEADER_ONLY)

add_library(aten_headers INTERFACE)
target_include_directories(aten_headers SYSTEM INTERFACE
  ${MAGNETO_TORCH_DIR}/include
  ${MAGNETO_TORCH_DIR}/include/torch/csrc/api/include)

add_library(torch_bundle INTERFACE)
target_link_directories(torch_bundle INTERFACE ${MAGNETO_TORCH_DIR}/lib)
target_link_libraries(torch_bundle INTERFACE torch_python torch torch_cpu c10)
