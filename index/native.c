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
#define PORTION 4096 /* rows that a thread takes at once: 0.2 ms of work, and no thread waits longer for another */
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
    float step, spread, reach;
};

/* A question with what the processor wants beside it. */
struct put {
    const struct question *the;
    const int16_t *wide; /* what is asked in 16 bits, or NULL where there is VNNI */
    int32_t shift;       /* to be taken off each product */
};

/* In which a row's score lies. */
struct interval {
    float lower, upper;
};

/* Rows that threads look at together, each at the next portion as long as there is one: those listed, or where that is NULL those from
   `start` on. `ends` has room for all. */
struct rows {
    const int64_t *listed;
    int64_t start, count, next;
    float *ends;
};

/* What one thread finds. */
struct near {
    int64_t count, *rows; /* with room for all of them, as `upper` */
    float *upper;
    int64_t limit;
    float *lower; /* a heap of the `limit` highest */
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

/* To a heap of the highest ends, the least at its top, which gives way to a higher one. */
static void push(float *heap, int64_t count, float end) {
    int64_t place = 0;
    if (!(end > heap[0])) return;
    for (int64_t below; (below = 2 * place + 1) < count; place = below) {
        if (below + 1 < count && heap[below + 1] < heap[below]) below++;
        if (heap[below] >= end) break;
        heap[place] = heap[below];
    }
    heap[place] = end;
}

static void empty(float *heap, int64_t count) {
    for (int64_t i = 0; i < count; i++) heap[i] = -INFINITY;
}

INLINE struct put put(const struct question *the, int16_t *wide) {
    struct put put = {the, wide, 0};
    for (int64_t i = 0; i < the->dim; i++)
        if (wide)
            wide[i] = the->asked[i];
        else
            put.shift += 128 * the->asked[i];
    return put;
}

INLINE struct interval interval(const struct put put, int64_t row) {
    const struct question *the = put.the;
    const int8_t *codes = the->codes + row * the->dim;
    const int32_t product = put.wide ? widened(codes, put.wide, the->dim) : shifted(codes, the->asked, the->dim) - put.shift;
    const float middle = (float)product * the->scales[row] * the->step, reach = the->widths[row] * the->spread + the->reach;
    return (struct interval){middle - reach, middle + reach};
}

INLINE int64_t row_of(const struct rows *rows, int64_t place) { return rows->listed ? rows->listed[place] : rows->start + place; }

INLINE void fetch_row(const struct question *the, int64_t row) {
    fetch(the->codes + row * the->dim, the->dim);
    fetch(the->scales + row, 1);
    fetch(the->widths + row, 1);
}

INLINE int64_t min(int64_t one, int64_t other) { return one < other ? one : other; }

/* Whether any of the ends reaches the bar. Negated, so that one that is no number does. */
INLINE int any_reaches(const float *ends, int64_t count, float bar) {
    int any = 0;
    for (int64_t i = 0; i < count; i++) any |= !(ends[i] < bar);
    return any;
}

/* The upper ends of the next portions, as long as there are any, whose places are put into `taken`; returns how many. The least of the `limit`
   highest ends is at the top of the heap. */
INLINE int64_t first_look(struct near *near, const struct put first, struct rows *rows, int64_t *taken) {
    const struct question *the = first.the;
    int64_t portions = 0, start;
    empty(near->lower, near->limit);
    while ((start = __atomic_fetch_add(&rows->next, PORTION, __ATOMIC_RELAXED)) < rows->count) {
        const int64_t end = min(start + PORTION, rows->count);
        taken[portions++] = start;
        for (int64_t done = start; done < end; done += BLOCK) {
            const int64_t size = min(BLOCK, end - done);
            float *upper = rows->ends + done;
            for (int64_t i = 0; i < size; i++) {
                const int64_t row = row_of(rows, done + i);
                if (rows->listed)
                    fetch_row(the, row_of(rows, min(done + i + ROWS_AHEAD, rows->count - 1)));
                else
                    fetch(the->codes + row * the->dim + AHEAD, the->dim);
                upper[i] = interval(first, row).upper;
            }
            if (!any_reaches(upper, size, near->lower[0])) continue;
            for (int64_t i = 0; i < size; i++) push(near->lower, near->limit, upper[i]);
        }
    }
    return portions;
}

/* The places, in the portions taken, of the ends that reach the bar; returns how many. */
INLINE int64_t reaching(const struct rows *rows, const int64_t *taken, int64_t portions, float bar, int64_t *places) {
    int64_t found = 0;
    for (int64_t portion = 0; portion < portions; portion++) {
        const int64_t end = min(taken[portion] + PORTION, rows->count);
        for (int64_t done = taken[portion]; done < end; done += BLOCK) {
            const int64_t size = min(BLOCK, end - done);
            if (!any_reaches(rows->ends + done, size, bar)) continue;
            for (int64_t i = done; i < done + size; i++)
                if (!(rows->ends[i] < bar)) places[found++] = i;
        }
    }
    return found;
}

/* The rows whose first ends are highest are asked the second question before all others: so the bar is where it belongs, and few are left. */
INLINE void look(struct near *near, const struct put first, const struct put second, struct rows *rows) {
    int64_t taken[rows->count / PORTION + 1], *places = near->rows;
    const int64_t portions = first_look(near, first, rows, taken);
    const float promising = near->lower[0];
    int64_t left = reaching(rows, taken, portions, promising, places);
    empty(near->lower, near->limit);
    for (int64_t i = 0; i < left; i++) {
        fetch_row(second.the, row_of(rows, places[min(i + ROWS_AHEAD, left - 1)]));
        push(near->lower, near->limit, interval(second, row_of(rows, places[i])).lower);
    }
    left = reaching(rows, taken, portions, near->lower[0], places);
    int64_t found = 0;
    for (int64_t i = 0; i < left; i++) {
        fetch_row(second.the, row_of(rows, places[min(i + ROWS_AHEAD, left - 1)]));
        const int64_t row = row_of(rows, places[i]);
        const struct interval ends = interval(second, row);
        if (rows->ends[places[i]] < promising) push(near->lower, near->limit, ends.lower);
        if (ends.upper < near->lower[0]) continue;
        near->rows[found] = row;
        near->upper[found++] = ends.upper;
    }
    near->count = 0;
    for (int64_t i = 0; i < found; i++) {
        if (near->upper[i] < near->lower[0]) continue; /* the bar has risen since */
        near->rows[near->count] = near->rows[i];
        near->upper[near->count++] = near->upper[i];
    }
}

/* The products of `count` rows of float32 vectors with each of the queries, in float64. */
struct factors {
    const float *vectors; /* dim of each row */
    int64_t dim;
    const int64_t *rows;
    int64_t count;
    const double *queries; /* dim each */
    int64_t asked;
    double *products; /* count of each query */
};

INLINE double product(const float *row, const double *query, int64_t dim) {
    double sums[16] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 16 <= dim; i += 16)
        for (int lane = 0; lane < 16; lane++) sums[lane] += (double)row[i + lane] * query[i + lane];
    for (; i < dim; i++) sum += (double)row[i] * query[i];
    for (int lane = 0; lane < 16; lane++) sum += sums[lane];
    return sum;
}

INLINE void multiply(const struct factors of) {
    for (int64_t at = 0; at < of.count; at++) {
        fetch(of.vectors + of.rows[min(at + ROWS_AHEAD, of.count - 1)] * of.dim, 4 * of.dim);
        for (int64_t query = 0; query < of.asked; query++)
            of.products[query * of.count + at] = product(of.vectors + of.rows[at] * of.dim, of.queries + query * of.dim, of.dim);
    }
}

WITH_AVX512 static void look_avx512(struct near *near, const struct question *first, const struct question *second, struct rows *rows) {
    look(near, put(first, NULL), put(second, NULL), rows);
}
WITH_AVX_VNNI static void look_avx_vnni(struct near *near, const struct question *first, const struct question *second, struct rows *rows) {
    look(near, put(first, NULL), put(second, NULL), rows);
}
WITH_AVX2 static void look_avx2(struct near *near, const struct question *first, const struct question *second, struct rows *rows) {
    int16_t wide[first->dim], also_wide[second->dim];
    look(near, put(first, wide), put(second, also_wide), rows);
}
WITH_AVX512 static void multiply_avx512(const struct factors of) { multiply(of); }
WITH_AVX2 static void multiply_avx2(const struct factors of) { multiply(of); }

int kb_kind(void) {
    if (KB_AT_BEST >= AVX512 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512dq")) return AVX512;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NONE;
    return KB_AT_BEST >= AVX_VNNI && __builtin_cpu_supports("avxvnni") ? AVX_VNNI : AVX2;
}

/* Which of the rows that this thread takes may be among the best, by the second question of those that the first one leaves. */
void kb_near(struct near *near, const struct question *first, const struct question *second, struct rows *rows) {
    const int kind = kb_kind();
    (kind == AVX512 ? look_avx512 : kind == AVX_VNNI ? look_avx_vnni : look_avx2)(near, first, second, rows);
}

void kb_multiply(const struct factors *of) { (kb_kind() == AVX512 ? multiply_avx512 : multiply_avx2)(*of); }
