# zlib, linked statically, so that the program loads one library less when it starts. The system's shared
# library is used with PL_SHARED, or where there is no static one. Defines the target `zlib`.

pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib>=1.2.11)
find_library(ZLIB_STATIC NAMES libz.a HINTS ${ZLIB_LIBRARY_DIRS})
if(PL_SHARED OR NOT ZLIB_STATIC)
  add_library(zlib ALIAS PkgConfig::ZLIB)
  return()
endif()

add_library(zlib STATIC IMPORTED GLOBAL)
set_target_properties(zlib PROPERTIES
  IMPORTED_LOCATION ${ZLIB_STATIC}
  INTERFACE_INCLUDE_DIRECTORIES "${ZLIB_INCLUDE_DIRS}")
