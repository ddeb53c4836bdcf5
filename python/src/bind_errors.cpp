// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <offramp/core/error.hpp>

#include <nanobind/stl/string.h>

#include <exception>
#include <string>

namespace offramp::python {
namespace {

void raise(const char* type, const Error& error) {
  const bool was_cancelled = error.code == ErrorCode::cancelled;
  const nb::object kind =
      nb::module_::import_("offramp._errors").attr(was_cancelled ? "Cancelled" : type);
  const nb::object made = kind(error.message());
  made.attr("code") = std::string(name_of(error.code));
  made.attr("path") = error.path;
  PyErr_SetObject(kind.ptr(), made.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const LogicError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const DataError& error) {
    raise("DataError", error.error());
  } catch (const IoError& error) {
    // Python makes FileNotFoundError and its like of it.
    const nb::object made =
        nb::borrow(PyExc_OSError)(error.errno_value(), error.error().what, error.error().path);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (const OutOfMemory& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const MachineError& error) {
    raise("MachineError", error.error());
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate, nullptr); }

}  // namespace offramp::python
