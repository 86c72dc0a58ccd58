/* Predict with generated C: model.h and model.c, and no library but that of math.h.
 *
 *     cc -std=c99 -O2 -Iparcels examples/deploy/c/answer.c parcels/model.c -lm -o answer
 */

#include <stdio.h>

#include "model.h"

static void answer(const tabnas_row *row)
{
    float probabilities[TABNAS_CLASSES];
    const int label = tabnas_predict(row, probabilities);
    int i;
    printf("%-8s", tabnas_labels[label]);
    for (i = 0; i < TABNAS_CLASSES; i++) printf(" %.4f", probabilities[i]);
    printf("\n");
}

int main(void)
{
    tabnas_row rows[4] = {TABNAS_EMPTY_ROW, TABNAS_EMPTY_ROW, TABNAS_EMPTY_ROW, TABNAS_EMPTY_ROW};
    int i;

    rows[0].weight_kg = 3.2;
    rows[0].insured = 1;
    rows[0].country = TABNAS_COUNTRY_NORWAY; /* a name that the compiler checks */
    rows[0].zone = TABNAS_ZONE_3;
    rows[0].sent = 1749803400; /* 2025-06-13 08:30 UTC */

    rows[1].insured = 0; /* what is not set is missing, here the weight */
    rows[1].country = tabnas_code_country("Spain"); /* or a text */
    rows[1].zone = tabnas_code_zone(1);
    rows[1].sent = 1740960000;

    rows[2].weight_kg = 9.75;
    rows[2].country = tabnas_code_country("Peru"); /* 0: it does not occur in training */
    rows[2].zone = tabnas_code_zone(9);

    printf("[");
    for (i = 0; i < TABNAS_CLASSES; i++) printf("%s\"%s\"", i ? ", " : "", tabnas_labels[i]);
    printf("]\n");
    for (i = 0; i < 4; i++) answer(&rows[i]);
    return 0;
}
