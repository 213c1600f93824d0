# libcurl and OpenSSL, inside of the program: a libcurl for HTTP alone (scripts/libcurl says why) and
# Debian's OpenSSL. With PL_SHARED both are the system's shared libraries, as packages of
# distributions want it. Defines the targets `libcurl` and `OpenSSL::SSL`.

set(OPENSSL_USE_STATIC_LIBS ON)
if(PL_SHARED)
  set(OPENSSL_USE_STATIC_LIBS OFF)
endif()
find_package(OpenSSL 3.0 REQUIRED)

if(PL_SHARED)
  pkg_check_modules(LIBCURL REQUIRED IMPORTED_TARGET libcurl>=7.88)
  add_library(libcurl ALIAS PkgConfig::LIBCURL)
  return()
endif()

pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/libcurl
  OUTPUT_VARIABLE libcurl_dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
add_library(libcurl STATIC IMPORTED GLOBAL)
set_target_properties(libcurl PROPERTIES
  IMPORTED_LOCATION ${libcurl_dir}/lib/libcurl.a
  INTERFACE_INCLUDE_DIRECTORIES ${libcurl_dir}/include
  INTERFACE_COMPILE_DEFINITIONS CURL_STATICLIB
  INTERFACE_LINK_LIBRARIES "PkgConfig::NGHTTP2;OpenSSL::SSL;OpenSSL::Crypto")
