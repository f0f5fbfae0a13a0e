# Writes a .cpp that holds the library files: cmake -DOUTPUT=... -DFILES=a.yaml;b.yaml -P embed_library.cmake
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "    {\"${name}\", R\"library(${text})library\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"model/library.h\"

namespace mtf {
namespace {

constexpr LibraryFile files[] = {
${rows}};

}  // namespace

std::span<const LibraryFile> library_files() { return files; }

}  // namespace mtf
")
