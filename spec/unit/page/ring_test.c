#include "page/ring.h"

#include "support/test.h"

#include <stdio.h>

static void check_ring(struct pl_ring *ring, uint64_t from, const char *wanted)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_ring_write(ring, from, &out);
    CHECK_STR(pl_buf_z(&out), wanted);
    pl_buf_deinit(&out);
}

TEST(items_are_numbered_from_one)
{
    struct pl_ring *ring = pl_ring_create(3, 100);
    check_ring(ring, 1, "{\"next\":1,\"forgotten\":0,\"items\":[]}");
    pl_ring_add(ring, pl_slice_z("{}"));
    pl_ring_add(ring, pl_slice_z("7"));
    check_ring(ring, 1, "{\"next\":3,\"forgotten\":0,\"items\":[{},7]}");
    check_ring(ring, 2, "{\"next\":3,\"forgotten\":0,\"items\":[7]}");
    check_ring(ring, 3, "{\"next\":3,\"forgotten\":0,\"items\":[]}");
    pl_ring_destroy(ring);
}

TEST(the_oldest_are_forgotten_and_counted)
{
    struct pl_ring *ring = pl_ring_create(3, 100);
    char text[8];
    for (int i = 1; i <= 10; i++) {
        snprintf(text, sizeof text, "%d", i);
        pl_ring_add(ring, pl_slice_z(text));
    }
    check_ring(ring, 1, "{\"next\":11,\"forgotten\":7,\"items\":[8,9,10]}");
    check_ring(ring, 9, "{\"next\":11,\"forgotten\":0,\"items\":[9,10]}");
    pl_ring_destroy(ring);
}

TEST(bytes_are_limited_and_the_latest_stays)
{
    struct pl_ring *ring = pl_ring_create(10, 5);
    pl_ring_add(ring, pl_slice_z("111"));
    pl_ring_add(ring, pl_slice_z("222"));
    check_ring(ring, 1, "{\"next\":3,\"forgotten\":1,\"items\":[222]}");
    pl_ring_add(ring, pl_slice_z("3333333333"));
    check_ring(ring, 3, "{\"next\":4,\"forgotten\":0,\"items\":[3333333333]}");
    pl_ring_destroy(ring);
}

TEST(who_asks_for_what_never_was_gets_all)
{
    struct pl_ring *ring = pl_ring_create(3, 100);
    pl_ring_add(ring, pl_slice_z("1"));
    check_ring(ring, 0, "{\"next\":2,\"forgotten\":0,\"items\":[1]}");
    check_ring(ring, 500, "{\"next\":2,\"forgotten\":0,\"items\":[1]}");
    pl_ring_clear(ring);
    check_ring(ring, 1, "{\"next\":2,\"forgotten\":1,\"items\":[]}");
    pl_ring_add(ring, pl_slice_z("2"));
    check_ring(ring, 2, "{\"next\":3,\"forgotten\":0,\"items\":[2]}");
    pl_ring_destroy(ring);
}

TEST_MAIN()
