#include "cli/open_page.h"

#include "base/log.h"
#include "command/command.h"

#include <stdio.h>

int pl_open_page(const struct pl_page_options *options, struct pl_page **page, struct pl_err *err)
{
    struct pl_buf url = PL_BUF_INIT;
    *page = pl_page_create(options, err);
    if (*page == NULL) {
        pl_err_prefix(err, "--ui-bind-address");
        return err->code;
    }
    pl_page_url(*page, &url);
    printf("page: %s\n", pl_buf_z(&url));
    pl_command_flush();
    pl_buf_deinit(&url);
    if (pl_page_is_open_to_network(*page))
        pl_log(PL_LOG_WARN, "the page is open to the network: anyone with its address, which "
                            "contains the token, can see and change what this host does");
    return 0;
}
