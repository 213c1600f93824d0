# libcurl and OpenSSL, linked statically: a libcurl with only HTTP (scripts/libcurl gives the reason) and
# Debian's OpenSSL. If that libcurl can't be built, and with PL_SHARED, which packages of distributions
# need, both are the system's shared libraries. Defines the targets `libcurl` and `OpenSSL::SSL`.

set(libcurl_shared ${PL_SHARED})
if(NOT PL_SHARED)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/libcurl
    OUTPUT_VARIABLE libcurl_dir OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE libcurl_shared)
  if(libcurl_shared)
    message(WARNING "scripts/libcurl failed: the system's shared libcurl is linked, with which a start takes twice as long")
  endif()
endif()

set(OPENSSL_USE_STATIC_LIBS ON)
if(libcurl_shared)
  set(OPENSSL_USE_STATIC_LIBS OFF)
endif()
find_package(OpenSSL 3.0 REQUIRED)

if(libcurl_shared)
  pkg_check_modules(LIBCURL REQUIRED IMPORTED_TARGET libcurl>=7.88)
  add_library(libcurl ALIAS PkgConfig::LIBCURL)
  return()
endif()

pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
add_library(libcurl STATIC IMPORTED GLOBAL)
set_target_properties(libcurl PROPERTIES
  IMPORTED_LOCATION ${libcurl_dir}/lib/libcurl.a
  INTERFACE_INCLUDE_DIRECTORIES ${libcurl_dir}/include
  INTERFACE_COMPILE_DEFINITIONS CURL_STATICLIB
  INTERFACE_LINK_LIBRARIES "PkgConfig::NGHTTP2;OpenSSL::SSL;OpenSSL::Crypto")
