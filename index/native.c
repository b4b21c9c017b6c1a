/* What a search does with many rows, in one pass each: called by index/native.py, which says what is passed.

   Plain C that a compiler turns into the processor's instructions for such products, with AVX-512, AVX-VNNI or AVX2; on a processor that has
   none of them, and where this was not compiled, numpy and numkong do the same. Rows are fetched ahead of their use: the processor itself
   does so only within a page of memory. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define AHEAD 6144 /* bytes that rows in a row are fetched ahead: 4,096 to 16,384 do as well, with 1,024 a look takes a fifth longer */
#define ROWS_AHEAD 4 /* the same of rows that are not: 2 to 8 do as well */
#define BLOCK 64 /* rows whose ends are compared together */
#define LINE 64 /* bytes that are fetched at once */
#define INLINE static inline __attribute__((always_inline))
#define WITH_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define WITH_AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#define WITH_AVX2 __attribute__((target("avx2,fma")))
#ifndef KB_AT_BEST /* so that the tests see the other ways too on a processor that has all */
#define KB_AT_BEST AVX512
#endif

enum kind { NONE, AVX2, AVX_VNNI, AVX512 };

struct question {
    const int8_t *codes; /* dim of each row */
    int64_t dim;
    const float *scales, *widths; /* of each row */
    const int8_t *asked; /* dim */
    float spread, reach;
    int64_t limit;
};

/* Past the larger caches: what is looked at once should not drive out what the rest of a search is about to need. 0.1 ms of 123,000 x 768. */
INLINE void fetch(const void *place, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += LINE) __builtin_prefetch((const char *)place + at, 0, 0);
}

/* A row's product with the query. VNNI's instruction wants one side without a sign: 128 more of each of the row's codes, which the caller takes off. */
INLINE int32_t shifted(const int8_t *row, const int8_t *asked, int64_t dim) {
    int32_t sum = 0;
    for (int64_t i = 0; i < dim; i++) sum += (int32_t)(uint8_t)(row[i] ^ -128) * asked[i];
    return sum;
}

/* The same with nothing to take off. Of AVX2's instructions that for 8 bits loses what is beyond 16, so the query comes with 16. */
INLINE int32_t widened(const int8_t *row, const int16_t *asked, int64_t dim) {
    int32_t sum = 0;
    for (int64_t i = 0; i < dim; i++) sum += (int32_t)row[i] * asked[i];
    return sum;
}

/* The least of the highest ends, at the top of a heap, gives way to a higher one. */
static void replace_least(float *heap, int64_t count, float end) {
    int64_t place = 0;
    for (int64_t below; (below = 2 * place + 1) < count; place = below) {
        if (below + 1 < count && heap[below + 1] < heap[below]) below++;
        if (heap[below] >= end) break;
        heap[place] = heap[below];
    }
    heap[place] = end;
}

/* Of `count` rows, those in `rows` or, where it is NULL, those from `first` on: the rows that may be among the best into `kept` and their
   upper ends into `upper`, each with room for all; the `limit` highest lower ends into `lower`. Returns how many were kept. `wide` is what is
   asked in 16 bits, or NULL where there is VNNI. */
INLINE int64_t look(const struct question *the, const int16_t *wide, const int64_t *rows, int64_t first, int64_t count, int64_t *kept,
                    float *upper, float *lower) {
    const int64_t dim = the->dim;
    int32_t shift = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < dim && !wide; i++) shift += 128 * the->asked[i];
    for (int64_t i = 0; i < the->limit; i++) lower[i] = -INFINITY;
    for (int64_t start = 0; start < count; start += BLOCK) {
        const int64_t size = count - start < BLOCK ? count - start : BLOCK;
        float middles[BLOCK], reaches[BLOCK];
        int any = 0;
        for (int64_t i = 0; i < size; i++) {
            const int64_t row = rows ? rows[start + i] : first + start + i;
            if (rows) {
                const int64_t next = rows[start + i + ROWS_AHEAD < count ? start + i + ROWS_AHEAD : count - 1];
                fetch(the->codes + next * dim, dim);
                fetch(the->scales + next, 1);
                fetch(the->widths + next, 1);
            } else {
                fetch(the->codes + row * dim + AHEAD, dim);
            }
            const int8_t *codes = the->codes + row * dim;
            middles[i] = (float)((wide ? widened(codes, wide, dim) : shifted(codes, the->asked, dim)) - shift) * the->scales[row];
            reaches[i] = the->widths[row] * the->spread + the->reach;
        }
        /* Negated, so that an end that is no number is kept. */
        for (int64_t i = 0; i < size; i++) any |= !(middles[i] + reaches[i] < lower[0]);
        for (int64_t i = 0; any && i < size; i++) {
            if (middles[i] + reaches[i] < lower[0]) continue;
            kept[found] = rows ? rows[start + i] : first + start + i;
            upper[found++] = middles[i] + reaches[i];
            if (middles[i] - reaches[i] > lower[0]) replace_least(lower, the->limit, middles[i] - reaches[i]);
        }
    }
    int64_t left = 0; /* the bar has risen since */
    for (int64_t i = 0; i < found; i++) {
        if (upper[i] < lower[0]) continue;
        kept[left] = kept[i];
        upper[left++] = upper[i];
    }
    return left;
}

/* The products of `count` rows of float32 vectors with `query`, in float64. */
INLINE void multiply(const float *vectors, int64_t dim, const int64_t *rows, int64_t count, const double *query, double *products) {
    for (int64_t at = 0; at < count; at++) {
        const float *row = vectors + rows[at] * dim;
        double sums[16] = {0}, sum = 0;
        int64_t i = 0;
        fetch(vectors + rows[at + ROWS_AHEAD < count ? at + ROWS_AHEAD : count - 1] * dim, 4 * dim);
        for (; i + 16 <= dim; i += 16)
            for (int lane = 0; lane < 16; lane++) sums[lane] += (double)row[i + lane] * query[i + lane];
        for (; i < dim; i++) sum += (double)row[i] * query[i];
        for (int lane = 0; lane < 16; lane++) sum += sums[lane];
        products[at] = sum;
    }
}

WITH_AVX512 static int64_t look_avx512(const struct question *the, const int64_t *rows, int64_t first, int64_t count, int64_t *kept,
                                       float *upper, float *lower) {
    return look(the, NULL, rows, first, count, kept, upper, lower);
}
WITH_AVX_VNNI static int64_t look_avx_vnni(const struct question *the, const int64_t *rows, int64_t first, int64_t count, int64_t *kept,
                                           float *upper, float *lower) {
    return look(the, NULL, rows, first, count, kept, upper, lower);
}
WITH_AVX2 static int64_t look_avx2(const struct question *the, const int64_t *rows, int64_t first, int64_t count, int64_t *kept,
                                   float *upper, float *lower) {
    int16_t wide[the->dim];
    for (int64_t i = 0; i < the->dim; i++) wide[i] = the->asked[i];
    return look(the, wide, rows, first, count, kept, upper, lower);
}
WITH_AVX512 static void multiply_avx512(const float *vectors, int64_t dim, const int64_t *rows, int64_t count, const double *query,
                                        double *products) {
    multiply(vectors, dim, rows, count, query, products);
}
WITH_AVX2 static void multiply_avx2(const float *vectors, int64_t dim, const int64_t *rows, int64_t count, const double *query,
                                    double *products) {
    multiply(vectors, dim, rows, count, query, products);
}

int kb_kind(void) {
    if (KB_AT_BEST >= AVX512 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512dq")) return AVX512;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NONE;
    return KB_AT_BEST >= AVX_VNNI && __builtin_cpu_supports("avxvnni") ? AVX_VNNI : AVX2;
}

int64_t kb_look(const struct question *the, const int64_t *rows, int64_t first, int64_t count, int64_t *kept, float *upper, float *lower) {
    const int kind = kb_kind();
    return (kind == AVX512 ? look_avx512 : kind == AVX_VNNI ? look_avx_vnni : look_avx2)(the, rows, first, count, kept, upper, lower);
}

void kb_multiply(const float *vectors, int64_t dim, const int64_t *rows, int64_t count, const double *query, double *products) {
    (kb_kind() == AVX512 ? multiply_avx512 : multiply_avx2)(vectors, dim, rows, count, query, products);
}
