#pragma once

#include "switchyard/actors/provider.hpp"

#include <memory>
#include <string>

/// A provider in this process that answers every question with a fixed text, after a moment. Every third attempt fails,
/// so that there is something to see.
std::shared_ptr<switchyard::provider> make_fake_provider(std::string text);
