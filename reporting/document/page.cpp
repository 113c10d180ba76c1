// SPDX-License-Identifier: Apache-2.0
#include "reporting/document/page.hpp"

#include <algorithm>
#include <utility>

#include "reporting/document/quantity_text.hpp"

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

PageCell key_cell(std::string key) {
  if (key.empty()) {
    return text_cell("–");
  }
  PageCell cell = code_cell(std::move(key));
  cell.key = true;
  return cell;
}

PageCell quantity_cell(const std::optional<double>& quantity,
                       std::string (*text)(double quantity)) {
  PageCell cell = number_cell(quantity ? text(*quantity) : "–");
  cell.quantity = quantity;
  return cell;
}

PageRow& operator<<(PageRow& row, PageCell cell) {
  row.push_back(std::move(cell));
  return row;
}

PageRow& operator<<(PageRow& row, std::string_view text) {
  return row << text_cell(std::string(text));
}

PageRow& operator<<(PageRow& row, const std::optional<Seconds>& time) {
  return row << quantity_cell(time ? std::optional(time->count()) : std::nullopt,
                              [](double seconds) { return time_text(Seconds(seconds)); });
}

PageRow head_row(std::string_view names) {
  PageRow row;
  while (!names.empty()) {
    const auto take = [&](char mark) {
      const bool marked = names.starts_with(mark);
      names.remove_prefix(marked ? 1 : 0);
      return marked;
    };
    PageCell& cell = row.emplace_back();
    cell.least = take('*') ? Extent::kComment : take('+') ? Extent::kPage : Extent::kTerminal;
    cell.number = take('#');
    const std::size_t end = std::min(names.find('|'), names.size());
    cell.text = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return row;
}

PageCell word_cell(std::string text, Tone tone) {
  PageCell cell = text_cell(std::move(text));
  cell.style = tone == Tone::kGood      ? "word good"
               : tone == Tone::kWarning ? "word warn"
                                        : "word bad";
  return cell;
}

}  // namespace plumb::reporting
