# Writes a C++ source with the texts of files, so that a program needs no files beside it:
#
#   cmake -D FOLDER=folder -D FILES=a.html,b.css -D OUTPUT=out.cpp -P EmbedFiles.cmake
#
# OUTPUT defines switchyard::admin::embedded_files() of embedded_files.hpp. The files are texts without the raw string's end.

string(REPLACE "," ";" files "${FILES}")
set(delimiter "_embedded_")
set(entries "")
foreach(name IN LISTS files)
  file(READ "${FOLDER}/${name}" content)
  string(FIND "${content}" ")${delimiter}\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${name} cannot be embedded: it contains )${delimiter}\"")
  endif()
  string(APPEND entries "      {\"${name}\", R\"${delimiter}(${content})${delimiter}\"sv},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made at build time by EmbedFiles.cmake.
#include \"embedded_files.hpp\"

namespace switchyard::admin {

std::span<const embedded_file> embedded_files() noexcept {
  using namespace std::string_view_literals;
  static constexpr embedded_file files[] = {
${entries}  };
  return files;
}

} // namespace switchyard::admin
")
