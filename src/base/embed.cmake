# Writes a .cpp with the text of files, for base/embedded.h:
#   cmake -DOUTPUT=x.cpp -DFUNCTION=library_files -DFILES=a.yaml;b.yaml -P embed.cmake
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WLE)
  file(READ ${file} text)
  string(APPEND rows "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"base/embedded.h\"

namespace mtf {

std::span<const EmbeddedFile> ${FUNCTION}();

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr EmbeddedFile files[] = {
${rows}};
  return files;
}

}  // namespace mtf
")
