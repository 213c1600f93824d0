# PCRE2, linked statically, so that the program loads one library less when it starts. The system's shared
# library is used with PL_SHARED, or where there is no static one. Defines the target `pcre2`.

pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)
find_library(PCRE2_STATIC NAMES libpcre2-8.a HINTS ${PCRE2_LIBRARY_DIRS})
if(PL_SHARED OR NOT PCRE2_STATIC)
  add_library(pcre2 ALIAS PkgConfig::PCRE2)
  return()
endif()

add_library(pcre2 STATIC IMPORTED GLOBAL)
set_target_properties(pcre2 PROPERTIES
  IMPORTED_LOCATION ${PCRE2_STATIC}
  INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIRS}")
