# How Perilune's own targets are compiled, and the two functions that declare them.

include(CheckLinkerFlag)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# The program does not depend on the folder in which it is built.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

add_library(pl_flags INTERFACE)
target_include_directories(pl_flags INTERFACE ${CMAKE_SOURCE_DIR}/host)
target_compile_definitions(pl_flags INTERFACE _GNU_SOURCE)
target_compile_options(pl_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wformat=2 -Wvla -Wpointer-arith -Wwrite-strings -Wundef -Wimplicit-fallthrough
  -Wdouble-promotion -fvisibility=hidden -fno-common -fno-strict-aliasing -fno-omit-frame-pointer)
if(PL_WERROR)
  target_compile_options(pl_flags INTERFACE -Werror)
endif()
if(PL_ASAN AND PL_TSAN)
  message(FATAL_ERROR "PL_ASAN and PL_TSAN exclude each other")
endif()
# With -Og, tests take a third less time, and the build takes no longer. Warnings that depend on the
# optimizer come from the plain build. Line tables (-g1) are enough for reports.
if(PL_ASAN OR PL_TSAN)
  target_compile_options(pl_flags INTERFACE
    $<$<CONFIG:Debug>:-Og;-g1;-Wno-format-truncation;-Wno-maybe-uninitialized>)
endif()
# Some 250 tests are linked, which takes gold half of ld's time. The program itself is linked by ld.
check_linker_flag(C -fuse-ld=gold PL_HAVE_GOLD)
if(PL_HAVE_GOLD)
  set(pl_test_linker -fuse-ld=gold)
endif()
if(PL_ASAN)
  target_compile_options(pl_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(pl_flags INTERFACE -fsanitize=address,undefined)
endif()
if(PL_TSAN)
  target_compile_options(pl_flags INTERFACE -fsanitize=thread)
  target_link_options(pl_flags INTERFACE -fsanitize=thread)
endif()
if(PL_FUZZ)
  target_compile_options(pl_flags INTERFACE -fsanitize=fuzzer-no-link -O1 -g1)
endif()
if(PL_COVERAGE)
  target_compile_options(pl_flags INTERFACE --coverage)
  target_link_options(pl_flags INTERFACE --coverage)
endif()

# pl_layer(NAME SOURCES ... LAYERS ... LIBS ...): one folder of host/ as a static library.
# LAYERS are the layers below that it may use; LIBS the third-party targets only it sees.
function(pl_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LAYERS;LIBS")
  add_library(pl_${name} STATIC ${arg_SOURCES})
  list(TRANSFORM arg_LAYERS PREPEND pl_)
  set_target_properties(pl_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(pl_${name} PRIVATE -Wconversion)
  target_link_libraries(pl_${name} PUBLIC pl_flags ${arg_LAYERS} PRIVATE ${arg_LIBS})
endfunction()

# pl_unit_test(LAYER NAME [THREADS] [IN LAYER] [EXTRA SOURCES...]): spec/unit/LAYER/NAME_test.c,
# linked with its layer and those below, so that an upward call does not link. IN: the test uses its
# object inside a whole cluster, and is linked with that higher layer instead. THREADS: the test
# starts threads. With PL_TSAN only these tests are built; support/one_thread.c fails a test without
# THREADS that starts one.
function(pl_unit_test layer name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "THREADS" "IN" "")
  if(NOT arg_IN)
    set(arg_IN ${layer})
  endif()
  set(target unit_${layer}_${name})
  add_executable(${target} ${CMAKE_SOURCE_DIR}/spec/unit/${layer}/${name}_test.c
    ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/spec)
  target_link_libraries(${target} PRIVATE pl_${arg_IN})
  target_link_options(${target} PRIVATE ${pl_test_linker})
  if(PL_TSAN AND NOT arg_THREADS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME unit/${layer}/${name} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(unit/${layer}/${name} PROPERTIES LABELS unit TIMEOUT 300)
  if(arg_THREADS)
    set_tests_properties(unit/${layer}/${name} PROPERTIES LABELS "unit;threads")
  elseif(NOT PL_ASAN AND NOT PL_TSAN) # TSan's runtime starts one
    target_link_libraries(${target} PRIVATE spec_one_thread)
  endif()
endfunction()
