#include "user_switch/outbox.hpp"

namespace crosscut::user_switch {

void Outbox::expect(BundleId bundle, std::int32_t frames, Instant hold) {
  if (open_.size() <= bundle) open_.resize(std::size_t{bundle} + 1);
  auto& open = open_[bundle];
  open.inside = frames;
  open.here = 0;
  open.gathered.count = 0;
  open.hold = hold;
}

void Outbox::close(Open& open) {
  if (open.gathered.count == 0) return;
  open.gathered.when = open.gathered.last_due;
  due_.push({open.gathered.when, order_++, open.gathered, open.turn});
  open.gathered.count = 0;
  ++open.turn;
}

void Outbox::add(BundleId bundle, std::int32_t number, Instant due) {
  auto& open = open_[bundle];
  auto& gathered = open.gathered;
  --open.inside;
  ++open.here;
  ++waiting_;
  const bool follows = gathered.count > 0 && number == gathered.first + gathered.count &&
                       due - gathered.first_due <= open.hold;
  if (follows) {
    ++gathered.count;
    gathered.last_due = due;
  } else {
    close(open);
    gathered = {.bundle = bundle, .first = number, .count = 1, .first_due = due, .last_due = due};
    if (open.inside > 0) due_.push({due + open.hold, order_++, {.bundle = bundle}, open.turn});
  }
  if (open.inside == 0) close(open);
}

void Outbox::lost(BundleId bundle) {
  auto& open = open_[bundle];
  if (--open.inside == 0) close(open);
}

bool Outbox::take(Instant now, Parcel& parcel) {
  while (!due_.empty() && due_.top().when <= now) {
    const Due due = due_.top();
    due_.pop();
    auto& open = open_[due.parcel.bundle];
    if (due.parcel.count > 0) {
      parcel = due.parcel;
    } else if (due.turn == open.turn && open.gathered.count > 0) {  // otherwise it has been closed before
      parcel = open.gathered;
      parcel.when = due.when;
      open.gathered.count = 0;
      ++open.turn;
    } else {
      continue;
    }
    open.here -= parcel.count;
    waiting_ -= parcel.count;
    return true;
  }
  return false;
}

bool Outbox::is_done(BundleId bundle) const { return open_[bundle].inside == 0 && open_[bundle].here == 0; }

}  // namespace crosscut::user_switch
