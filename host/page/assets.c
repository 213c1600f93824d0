#include "page/assets.h"

#include "base/base.h"
#include "page/embedded.h"

#define OF(name) pl_page_##name, sizeof pl_page_##name

static const struct pl_asset assets[] = {
    {"/", "text/html; charset=utf-8", false, OF(page_html)},
    {"/page.js", "text/javascript; charset=utf-8", false, OF(page_js)},
    {"/page.css", "text/css; charset=utf-8", true, OF(page_css)},
    {"/icon.svg", "image/svg+xml", true, OF(icon_svg)},
    {"/sign-in.js", "text/javascript; charset=utf-8", true, OF(sign_in_js)},
};

static const struct pl_asset sign_in = {"", "text/html; charset=utf-8", true, OF(sign_in_html)};

const struct pl_asset *pl_asset_find(struct pl_slice path)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(assets); i++)
        if (pl_slice_eqz(path, assets[i].path))
            return &assets[i];
    return NULL;
}

const struct pl_asset *pl_asset_sign_in(void)
{
    return &sign_in;
}
