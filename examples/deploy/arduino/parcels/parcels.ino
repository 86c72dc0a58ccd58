// Predict on a microcontroller. Put model.h and model.c beside this file.

#include "model.h"

void setup() { Serial.begin(115200); }

void loop() {
  tabnas_row row = TABNAS_EMPTY_ROW;           // what is not set is missing
  row.weight_kg = analogRead(A0) * 0.01;       // a load cell
  row.insured = digitalRead(2) == HIGH;        // a switch
  row.country = TABNAS_COUNTRY_NORWAY;         // names of categories need no texts in memory
  row.zone = tabnas_code_zone(3);

  float probabilities[TABNAS_CLASSES];
  const int label = tabnas_predict(&row, probabilities);
  if (label == TABNAS_CLASS_LATE && probabilities[label] > 0.8f) digitalWrite(LED_BUILTIN, HIGH);
  Serial.println(tabnas_labels[label]);
  delay(1000);
}
