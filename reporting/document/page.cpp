// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/page.hpp"

#include <utility>

namespace plumb::reporting {

PageCell text_cell(std::string text) {
  PageCell cell;
  cell.text = std::move(text);
  return cell;
}

PageCell number_cell(std::string text) {
  PageCell cell = text_cell(std::move(text));
  cell.number = true;
  return cell;
}

PageCell link_cell(std::string text, std::string address) {
  PageCell cell = text_cell(std::move(text));
  cell.link = std::move(address);
  return cell;
}

PageCell code_cell(std::string text) {
  PageCell cell = text_cell(std::move(text));
  cell.code = true;
  return cell;
}

PageCell drawing_cell(std::string svg, std::string text) {
  PageCell cell = text_cell(std::move(text));
  cell.drawing = std::move(svg);
  return cell;
}

PageCell word_cell(std::string text, Tone tone) {
  PageCell cell = text_cell(std::move(text));
  cell.style = tone == Tone::kGood      ? "word good"
               : tone == Tone::kWarning ? "word warn"
                                        : "word bad";
  return cell;
}

}  // namespace plumb::reporting
