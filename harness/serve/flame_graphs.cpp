// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/flame_graphs.hpp"

#include <sstream>
#include <string>

#include "reporting/content/profile/profile_files.hpp"

namespace plumb::serve {

void add_flame_graphs(const session::Archive& archive, analysis::RunReport& report) {
  for (const results::StoredProfile& profile : archive.store.profiles(report.run.header.id)) {
    for (analysis::ModelReport& model : report.models) {
      if (analysis::subject_of(model.bounds.instance) == profile.subject) {
        std::ostringstream svg;
        reporting::write_flame_graph(profile.profile, svg);
        model.flame_graph = {svg.str(), profile.profile.mode};
      }
    }
  }
}

}  // namespace plumb::serve
