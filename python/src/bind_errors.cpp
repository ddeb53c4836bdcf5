// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <offramp/core/error.hpp>

#include <nanobind/stl/string.h>

#include <exception>
#include <string>

namespace offramp::python {
namespace {

// Owned by the module, which lives as long as Python.
PyObject* data_error{};
PyObject* machine_error{};
PyObject* cancelled{};

PyObject* make_exception(nb::module_& module, const char* name, PyObject* base, const char* text) {
  const std::string path = std::string("offramp.") + name;
  PyObject* const made = PyErr_NewExceptionWithDoc(path.c_str(), text, base, nullptr);
  if (!made) throw nb::python_error();
  module.attr(name) = nb::borrow(made);
  return made;
}

void raise(PyObject* type, const Error& error) {
  const nb::object made = nb::borrow(type)(error.message());
  made.attr("code") = std::string(name_of(error.code));
  made.attr("path") = error.path;
  PyErr_SetObject(type, made.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const LogicError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const DataError& error) {
    raise(error.error().code == ErrorCode::cancelled ? cancelled : data_error, error.error());
  } catch (const IoError& error) {
    const nb::object made =
        nb::borrow(PyExc_OSError)(error.errno_value(), error.error().what, error.error().path);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (const OutOfMemory& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const MachineError& error) {
    raise(error.error().code == ErrorCode::cancelled ? cancelled : machine_error, error.error());
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  data_error = make_exception(module, "DataError", PyExc_ValueError,
                              "Data or a request was refused: `code`, `path` and a message.");
  machine_error = make_exception(module, "MachineError", PyExc_RuntimeError,
                                 "The machine failed: `code`, `path` and a message.");
  cancelled = make_exception(module, "Cancelled", PyExc_RuntimeError, "The work was cancelled.");
  nb::register_exception_translator(translate, nullptr);
}

}  // namespace offramp::python
