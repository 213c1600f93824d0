/* Which of several ready keys of a controller is next: a chooser may take another one. */
#pragma once

#include "control/controller.h"
#include "world/point.h"

/* Asks at a PICK point. The key that was chosen gets a higher priority, so that it is taken next.
 */
void pl_order_ask(const struct pl_chooser *chooser, const char *host,
                  struct pl_controller *controller, int64_t now_ns);
