#include "object/pointer.h"

#include "base/text.h"

int pl_pointer_next(struct pl_slice *pointer, struct pl_buf *word, struct pl_err *err)
{
    pl_buf_clear(word);
    if (pointer->len == 0)
        return 0;
    if (pointer->ptr[0] != '/')
        return pl_err_set(err, PL_ESYNTAX, "a JSON pointer must begin with '/'");
    size_t at = 1;
    for (; at < pointer->len && pointer->ptr[at] != '/'; at++) {
        char c = pointer->ptr[at];
        if (c == '~') {
            char escape = ++at < pointer->len ? pointer->ptr[at] : '\0';
            if (escape != '0' && escape != '1')
                return pl_err_set(err, PL_ESYNTAX,
                                  "'~' in a pointer is followed by 0 (for ~) or 1 (for /)");
            c = escape == '0' ? '~' : '/';
        }
        pl_buf_add_char(word, c);
    }
    *pointer = pl_slice(pointer->ptr + at, pointer->len - at);
    return 1;
}

void pl_pointer_add(struct pl_buf *out, struct pl_slice word)
{
    pl_buf_add_char(out, '/');
    while (word.len > 0) {
        size_t plain = 0;
        while (plain < word.len && word.ptr[plain] != '~' && word.ptr[plain] != '/')
            plain++;
        pl_buf_add(out, word.ptr, plain);
        if (plain == word.len)
            return;
        pl_buf_add_z(out, word.ptr[plain] == '~' ? "~0" : "~1");
        word = pl_slice(word.ptr + plain + 1, word.len - plain - 1);
    }
}

bool pl_pointer_index(struct pl_slice word, size_t *index)
{
    bool good = word.len != 0 && word.len < 10 && (word.ptr[0] != '0' || word.len == 1);
    *index = 0;
    for (size_t i = 0; i < word.len && good; i++) {
        good = pl_is_digit(word.ptr[i]);
        *index = *index * 10 + (size_t)(word.ptr[i] - '0');
    }
    return good;
}
