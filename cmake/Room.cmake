# magneto_room(<name> [PYTHON] [ATEN] USES <room>...)
#
# Declares the OBJECT library room_<name> from the sources under src/<name>. A
# folder src/<name>/v311 is what the room knows of CPython 3.11: of such folders
# only that of the CPython in use is compiled. The library sees its own headers
# and those of the rooms that it USES, each as "room/file.h", through a folder
# of links made for it alone; so an undeclared arrow does not compile.
# PYTHON adds Python.h, ATEN adds torch's headers.
set(MAGNETO_ROOMS "" CACHE INTERNAL "")

set(MAGNETO_WARNINGS -Wall -Wextra -Wshadow -Werror
    -Wno-missing-field-initializers -Wno-unused-parameter)

# The folder of a room that is about the CPython in use.
set(MAGNETO_VERSION_FOLDER v${Python_VERSION_MAJOR}${Python_VERSION_MINOR})

# Makes the folder of links through which a target sees the given rooms. What
# the headers of room python have inline for the CPython in use, they include as
# "running_python/file.h".
function(magneto_view out name)
  set(view ${CMAKE_BINARY_DIR}/views/${name})
  file(REMOVE_RECURSE ${view})
  file(MAKE_DIRECTORY ${view})
  foreach(room ${ARGN})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${room} ${view}/${room} SYMBOLIC)
  endforeach()
  list(FIND ARGN python position)
  if(position GREATER -1)
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/python/${MAGNETO_VERSION_FOLDER}
      ${view}/running_python SYMBOLIC)
  endif()
  set(${out} ${view} PARENT_SCOPE)
endfunction()

# The sources of a room.
function(magneto_sources out name)
  set(folder ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*.cpp)
  set(others ${sources})
  list(FILTER others INCLUDE REGEX "^v[0-9]+/")
  set(chosen ${others})
  list(FILTER chosen INCLUDE REGEX "^${MAGNETO_VERSION_FOLDER}/")
  if(others AND NOT chosen)
    message(FATAL_ERROR "src/${name} has no folder ${MAGNETO_VERSION_FOLDER}: "
                        "CPython ${Python_VERSION} is none that it knows")
  endif()
  list(FILTER sources EXCLUDE REGEX "^v[0-9]+/")
  list(APPEND sources ${chosen})
  list(TRANSFORM sources PREPEND ${folder}/)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(magneto_room name)
  cmake_parse_arguments(arg "PYTHON;ATEN" "" "USES" ${ARGN})
  set_property(GLOBAL PROPERTY magneto_uses_${name} "${arg_USES}")
  set_property(GLOBAL PROPERTY magneto_python_${name} "${arg_PYTHON}")
  set_property(GLOBAL PROPERTY magneto_aten_${name} "${arg_ATEN}")
  magneto_sources(sources ${name})
  if(NOT sources)
    return()
  endif()
  magneto_view(view ${name} ${name} ${arg_USES})
  add_library(room_${name} OBJECT ${sources})
  target_include_directories(room_${name} PRIVATE ${view})
  target_compile_options(room_${name} PRIVATE ${MAGNETO_WARNINGS})
  target_link_libraries(room_${name} PRIVATE fmt_headers)
  if(arg_PYTHON)
    target_link_libraries(room_${name} PRIVATE python_headers)
    # The GIL protects local statics. What makes them may import modules, and
    # so let go of the GIL: a thread that took it then and waited for the lock
    # of the static would wait forever. Made by two threads, one is leaked.
    if(NOT arg_ATEN)
      target_compile_options(room_${name} PRIVATE -fno-threadsafe-statics)
    endif()
  endif()
  if(arg_ATEN)
    target_link_libraries(room_${name} PRIVATE aten_headers)
    if(EXISTS ${CMAKE_SOURCE_DIR}/src/${name}/precompiled.h)
      target_precompile_headers(room_${name} PRIVATE
        ${CMAKE_SOURCE_DIR}/src/${name}/precompiled.h)
      # Without precompiled headers (clang-tidy) sources see the same.
      if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
        target_compile_options(room_${name} PRIVATE
          -include ${CMAKE_SOURCE_DIR}/src/${name}/precompiled.h)
      endif()
    endif()
  endif()
  set(MAGNETO_ROOMS ${MAGNETO_ROOMS} ${name} CACHE INTERNAL "")
endfunction()

# The given rooms and all that they use, directly or not.
function(magneto_room_closure out)
  set(closure "")
  set(pending ${ARGN})
  while(pending)
    list(POP_FRONT pending room)
    if(NOT room IN_LIST closure)
      list(APPEND closure ${room})
      get_property(uses GLOBAL PROPERTY magneto_uses_${room})
      list(APPEND pending ${uses})
    endif()
  endwhile()
  set(${out} "${closure}" PARENT_SCOPE)
endfunction()

# Sets <out> to TRUE if one of the rooms was declared with the flag.
function(magneto_any_room out flag)
  set(found FALSE)
  foreach(room ${ARGN})
    get_property(set GLOBAL PROPERTY magneto_${flag}_${room})
    if(set)
      set(found TRUE)
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Links the objects of the given rooms into a target; a room that has no
# sources yet is left out.
function(magneto_link_rooms target)
  foreach(room ${ARGN})
    if(room IN_LIST MAGNETO_ROOMS)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:room_${room}>)
    endif()
  endforeach()
endfunction()
