# llhttp: Debian's libllhttp-dev where it exists; in bookworm the C sources that
# node-llhttp ships, unpacked into the build folder without installing Node.
# Defines the target `llhttp`.

pkg_check_modules(LIBLLHTTP QUIET IMPORTED_TARGET libllhttp)
if(LIBLLHTTP_FOUND)
  add_library(llhttp ALIAS PkgConfig::LIBLLHTTP)
  return()
endif()

set(llhttp_dir ${CMAKE_BINARY_DIR}/llhttp)
if(NOT EXISTS ${llhttp_dir}/usr/share/llhttp/llhttp.c)
  message(STATUS "unpacking llhttp's sources from Debian's node-llhttp")
  file(MAKE_DIRECTORY ${llhttp_dir})
  execute_process(
    COMMAND sh -c "apt-get download -q node-llhttp && dpkg -x node-llhttp_*.deb ."
    WORKING_DIRECTORY ${llhttp_dir} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  if(failed OR NOT EXISTS ${llhttp_dir}/usr/share/llhttp/llhttp.c)
    message(FATAL_ERROR "llhttp is missing: install libllhttp-dev, or let apt-get download node-llhttp (try 'apt-get update')\n${why}")
  endif()
endif()
set(llhttp_src ${llhttp_dir}/usr/share/llhttp)
add_library(llhttp STATIC ${llhttp_src}/api.c ${llhttp_src}/http.c ${llhttp_src}/llhttp.c)
target_include_directories(llhttp SYSTEM PUBLIC
  ${llhttp_dir}/usr/share/include ${llhttp_dir}/usr/share/include/llhttp)
target_compile_options(llhttp PRIVATE -w)
set_target_properties(llhttp PROPERTIES POSITION_INDEPENDENT_CODE ON)
